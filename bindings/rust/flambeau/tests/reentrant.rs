//! Closures that take themselves away, or what runs them, while they run: they live until they
//! return.

mod place;

use std::sync::{
    atomic::{AtomicUsize, Ordering::SeqCst},
    mpsc, Arc, Mutex,
};

use flambeau::{
    autograd::Hook,
    data::{Dataset, Loader, LoaderOptions},
    nn::{sequential, Layer},
    set_warning_handler, zeros, Result, Tensor,
};

/// What a closure holds: it counts its drops.
#[derive(Clone, Default)]
struct Drops(Arc<AtomicUsize>);

struct Held(Drops);

impl Drop for Held {
    fn drop(&mut self) {
        self.0 .0.fetch_add(1, SeqCst);
    }
}

impl Drops {
    /// A closure's own part: takes the closure away and finds that it is there still.
    fn outlives(&self, take_away: impl Fn() + Send + Sync + 'static) -> impl Fn() + Send + Sync {
        let (held, drops) = (Held(self.clone()), self.clone());
        move || {
            let _held = &held;
            take_away();
            assert_eq!(drops.0.load(SeqCst), 0, "dropped while it runs");
        }
    }

    fn all_gone(&self) {
        assert_eq!(self.0.load(SeqCst), 1);
    }
}

fn leaf() -> Tensor {
    let mut x = Tensor::from([1.0f32, 2.0]);
    x.set_requires_grad(true).unwrap();
    x
}

#[test]
fn a_hook_removes_itself() {
    let (drops, slot) = (Drops::default(), Arc::new(Mutex::new(None::<Hook>)));
    let own = slot.clone();
    let run = drops.outlives(move || own.lock().unwrap().take().unwrap().remove());
    let mut x = leaf();
    let hook = x.register_hook(move |_| {
        run();
        Ok(None)
    });
    *slot.lock().unwrap() = Some(hook.unwrap());
    (&x * 2.0).sum().unwrap().backward().unwrap();
    drops.all_gone();
}

#[test]
fn a_forward_hook_removes_itself_and_adds_others() {
    let (drops, slot) = (Drops::default(), Arc::new(Mutex::new(None::<Hook>)));
    let mut layer = Layer::relu().unwrap();
    let (own, same) = (slot.clone(), layer.clone());
    let run = drops.outlives(move || {
        let mut same = same.clone();
        own.lock().unwrap().take().unwrap().remove();
        (0..100).for_each(|_| drop(same.register_forward_hook(|_, _| Ok(None)).unwrap()));
    });
    let hook = layer.register_forward_pre_hook(move |_| {
        run();
        Ok(None)
    });
    *slot.lock().unwrap() = Some(hook.unwrap());
    layer.forward(&leaf()).unwrap();
    drops.all_gone();
}

#[test]
fn a_module_leaves_the_tree_that_runs_it() {
    let drops = Drops::default();
    let tree = sequential([]).unwrap();
    let own = tree.clone();
    let run = drops.outlives(move || own.clone().set_child("0").unwrap());
    let layer = Layer::from_fn(move |x| {
        run();
        x.add(1.0)
    });
    tree.clone().append(&layer.unwrap()).unwrap();
    let y: Result<Tensor> = tree.forward(&zeros(&[1]).unwrap());
    assert_eq!(y.unwrap().item::<f32>().unwrap(), 1.0);
    drops.all_gone();
}

#[test]
fn a_warning_handler_sets_another_one() {
    let drops = Drops::default();
    let run = drops.outlives(|| set_warning_handler(|_| Ok(())).unwrap());
    set_warning_handler(move |_| {
        run();
        Ok(())
    })
    .unwrap();
    zeros(&[2, 3]).unwrap().sum_out(&mut zeros(&[4]).unwrap()).unwrap();
    drops.all_gone();
}

#[test]
fn a_data_set_drops_the_loader_that_fetches() {
    let slot = Arc::new(Mutex::new(None::<Loader>));
    let (drops, own, (done, over)) = (Drops::default(), slot.clone(), mpsc::channel());
    let done = Mutex::new(done);
    let run = drops.outlives(move || drop(own.lock().unwrap().take()));
    let samples = Dataset::from_fn(100, move |indices| {
        if indices[0] == 1 {
            run();
            done.lock().unwrap().send(()).unwrap();
        }
        Ok(vec![Tensor::from(indices)])
    });
    let options = LoaderOptions::default().num_workers(2);
    let loader = Loader::new_with(&samples.unwrap(), options).unwrap();
    let mut held = slot.lock().unwrap();
    held.insert(loader).next_batch().unwrap();
    drop(held);
    over.recv().unwrap();
    assert!(slot.lock().unwrap().is_none());
}
