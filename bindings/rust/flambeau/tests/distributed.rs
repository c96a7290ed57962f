//! Groups whose ranks are threads, and a model's gradients over them: what is reduced, what stays,
//! hooks of the program's own, and waits that hold nobody else up.

mod place;

use std::{
    sync::{
        atomic::{AtomicUsize, Ordering::SeqCst},
        Arc,
    },
    thread,
    time::Duration,
};

use flambeau::{
    distributed::{
        clear_interrupt_handler, set_interrupt_handler, CommHook, Ddp, Group, GroupNewOptions,
        Store, Work,
    },
    nn::Layer,
    ones, zeros, Error, Result, Status, Tensor,
};

fn alone() -> (Group, Layer, Ddp) {
    let group = Group::new(&Store::hash().unwrap(), 0, 1).unwrap();
    let model = Layer::linear(3, 1).unwrap();
    let ddp = Ddp::new(&group, &model).unwrap();
    (group, model, ddp)
}

fn step(ddp: &mut Ddp, model: &Layer) -> Result<()> {
    ddp.forward(|| model.forward(&ones(&[2, 3])?))?.sum()?.backward()
}

fn bias_gradient(model: &Layer) -> f32 {
    model.parameter("bias").unwrap().grad().unwrap().unwrap().item().unwrap()
}

#[test]
fn a_forward_that_fails_leaves_the_coupling_as_it_was() {
    let (_group, model, mut ddp) = alone();
    let failed = ddp.forward(|| Err(Error::new(Status::Shape, "no such batch")));
    assert_eq!(failed.unwrap_err().status(), Status::Shape);
    step(&mut ddp, &model).unwrap();
    assert_eq!(bias_gradient(&model), 2.0);
}

/// Counts its calls, and gives ten times the gradients.
#[derive(Default)]
struct Counts {
    begun: AtomicUsize,
    finished: AtomicUsize,
    dropped: AtomicUsize,
}

struct TenTimes(Arc<Counts>);

struct Bucket(Arc<Counts>, Tensor);

impl Drop for Bucket {
    fn drop(&mut self) {
        self.0.dropped.fetch_add(1, SeqCst);
    }
}

impl CommHook for TenTimes {
    type Pending = Bucket;

    fn begin(&self, bucket: usize, buffer: &Tensor) -> Result<Bucket> {
        assert_eq!(bucket, 0);
        if self.0.begun.fetch_add(1, SeqCst) == 2 {
            return Err(Error::new(Status::Unsupported, "nothing is sent today"));
        }
        Ok(Bucket(self.0.clone(), buffer.clone()))
    }

    fn finish(&self, bucket: Bucket) -> Result<Option<Tensor>> {
        match self.0.finished.fetch_add(1, SeqCst) {
            0 => Ok(Some(bucket.1.mul(10)?)),
            _ => Err(Error::new(Status::Unsupported, "nothing came back")),
        }
    }
}

#[test]
fn a_hook_reduces_and_its_failures_are_those_of_backward() {
    let (_group, model, mut ddp) = alone();
    let counts = Arc::new(Counts::default());
    ddp.register_hook(TenTimes(counts.clone())).unwrap();
    step(&mut ddp, &model).unwrap();
    assert_eq!(bias_gradient(&model), 20.0);
    assert_eq!(counts.dropped.load(SeqCst), 1);
    let twice = ddp.register_hook(TenTimes(counts.clone())).unwrap_err();
    assert_eq!(twice.status(), Status::InvalidArgument);
    assert_eq!(Arc::strong_count(&counts), 2); // the refused one is gone
    for text in ["nothing came back", "nothing is sent today"] {
        let failed = step(&mut ddp, &model).unwrap_err();
        assert!(failed.message().contains(text), "{}", failed);
    }
    assert_eq!(counts.dropped.load(SeqCst), 2);
    drop(ddp);
    assert_eq!(Arc::strong_count(&counts), 1);
}

/// The two ranks of a job as threads, over one store.
fn pair() -> [Group; 2] {
    let store = Store::hash().unwrap();
    let join = move |store: Store, rank| {
        let options = GroupNewOptions::default().timeout(20.0);
        thread::spawn(move || Group::new_with(&store, rank, 2, options).unwrap())
    };
    let other = join(store.try_clone().unwrap(), 1);
    [join(store, 0).join().unwrap(), other.join().unwrap()]
}

#[test]
fn who_waits_for_another_rank_lets_this_one_write() {
    let [here, there] = pair();
    let waiting = thread::spawn(move || {
        let mut came = zeros(&[2]).unwrap();
        let work: Work = there.recv(&mut came).unwrap();
        work.wait().unwrap();
        there.barrier().unwrap();
        came.to_vec::<f32>().unwrap()
    });
    thread::sleep(Duration::from_millis(100));
    let mut sent = zeros(&[2]).unwrap();
    sent.add_(3.0).unwrap(); // a write waits until no other call is made
    here.send(&sent, 1).unwrap().wait().unwrap();
    thread::sleep(Duration::from_millis(100));
    sent.add_(1.0).unwrap(); // beside the barrier
    here.barrier().unwrap();
    assert_eq!(waiting.join().unwrap(), [3.0, 3.0]);
}

#[test]
fn a_closure_ends_the_waits_of_its_thread() {
    let [here, there] = pair();
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    set_interrupt_handler(move || match counted.fetch_add(1, SeqCst) {
        0 => Ok(()), // waits on
        _ => Err(Error::new(Status::Io, "the user has seen enough")),
    })
    .unwrap();
    let mut came = zeros(&[2]).unwrap();
    let work: Work = here.recv(&mut came).unwrap();
    let error = work.wait().unwrap_err();
    assert!(error.message().contains("the user has seen enough"), "{}", error);
    assert_eq!(asked.load(SeqCst), 2);
    clear_interrupt_handler().unwrap();
    assert_eq!(Arc::strong_count(&asked), 1); // the closure was dropped
    there.send(&ones(&[2]).unwrap(), 0).unwrap().wait().unwrap();
    work.wait().unwrap(); // it went on
    assert_eq!(came.to_vec::<f32>().unwrap(), [1.0, 1.0]);
}
