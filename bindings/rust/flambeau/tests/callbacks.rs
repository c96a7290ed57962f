//! What a closure of any kind fails with, its caller gets: the same status, text and Rust value,
//! from whichever thread the engine ran it on.

mod place;

use std::{
    error::Error as StdError,
    fmt,
    panic::{catch_unwind, resume_unwind, AssertUnwindSafe},
    sync::{
        atomic::{AtomicBool, Ordering::SeqCst},
        Arc, Mutex,
    },
};

use flambeau::{
    autograd::{apply, checkpoint, Context, Function},
    data::{Dataset, Loader, LoaderOptions},
    nn::Layer,
    optim::{Optimizer, Scheduler},
    set_warning_handler,
    tools::Progress,
    zeros, Error, Result, Scope, Status, Tensor,
};

/// A failure, as often as it is asked for.
type Fail = Arc<dyn Fn() -> Error + Send + Sync>;
/// A kind's name, and a call that runs a closure of it which fails: its error.
type Kind = (&'static str, fn(Fail) -> Error);

fn leaf() -> Tensor {
    let mut x = Tensor::from([1.0f32, 2.0]);
    x.set_requires_grad(true).unwrap();
    x
}

fn hook(fail: Fail) -> Error {
    let mut x = leaf();
    x.register_hook(move |_| Err(fail())).unwrap();
    (&x * 2.0).sum().unwrap().backward().unwrap_err()
}

fn post_accumulate_hook(fail: Fail) -> Error {
    let mut x = leaf();
    x.register_post_accumulate_grad_hook(move |_| Err(fail())).unwrap();
    (&x * 2.0).sum().unwrap().backward().unwrap_err()
}

fn nested(inner: Layer) -> Error {
    let outer = Layer::from_fn(move |x| inner.forward(x)).unwrap();
    flambeau::nn::sequential([outer]).unwrap().forward(&leaf()).unwrap_err()
}

fn module(fail: Fail) -> Error {
    nested(Layer::from_fn(move |_| Err(fail())).unwrap())
}

fn forward_pre_hook(fail: Fail) -> Error {
    let mut layer = Layer::relu().unwrap();
    layer.register_forward_pre_hook(move |_| Err(fail())).unwrap();
    nested(layer)
}

fn forward_hook(fail: Fail) -> Error {
    let mut layer = Layer::relu().unwrap();
    layer.register_forward_hook(move |_, _| Err(fail())).unwrap();
    nested(layer)
}

struct Fails {
    forward: bool,
    fail: Fail,
}

impl Function for Fails {
    fn forward(&self, _: &mut Context, inputs: &[&Tensor]) -> Result<Vec<Tensor>> {
        match self.forward {
            true => Err((self.fail)()),
            false => Ok(vec![inputs[0].exp()?]),
        }
    }

    fn backward(&self, _: &Context, _: &[Option<Tensor>]) -> Result<Vec<Option<Tensor>>> {
        Err((self.fail)())
    }
}

fn function_forward(fail: Fail) -> Error {
    let forward = Layer::from_fn(move |x| {
        let function = Fails { forward: true, fail: fail.clone() };
        apply(function, &[x]).map(|mut results| results.remove(0))
    });
    nested(forward.unwrap())
}

fn function_backward(fail: Fail) -> Error {
    let y = apply(Fails { forward: false, fail }, &[&leaf()]).unwrap().remove(0);
    y.sum().unwrap().backward().unwrap_err()
}

fn pack(fail: Fail) -> Error {
    let pack = move |_: &Tensor| -> Result<Tensor> { Err(fail()) };
    let _hooks = Scope::saved_hooks(pack, |t: &Tensor| Ok(t.clone())).unwrap();
    leaf().exp().unwrap_err()
}

fn unpack(fail: Fail) -> Error {
    let unpack = move |_: &Tensor| Err(fail());
    let hooks = Scope::saved_hooks(|t: &Tensor| Ok(t.clone()), unpack).unwrap();
    let y = leaf().exp().unwrap().sum().unwrap();
    drop(hooks);
    y.backward().unwrap_err()
}

fn recomputation(fail: Fail) -> Error {
    let again = AtomicBool::new(false);
    let run = move |inputs: &[&Tensor]| {
        if again.swap(true, SeqCst) {
            return Err(fail());
        }
        inputs[0].exp()?.exp()
    };
    checkpoint(run, &[&leaf()]).unwrap().sum().unwrap().backward().unwrap_err()
}

fn fetched(fail: Fail, num_workers: i64) -> Error {
    let samples = Dataset::from_fn(4, move |_| Err(fail())).unwrap();
    let options = LoaderOptions::default().num_workers(num_workers);
    Loader::new_with(&samples, options).unwrap().next_batch().unwrap_err()
}

fn dataset(fail: Fail) -> Error {
    fetched(fail, 0)
}

fn dataset_on_a_thread(fail: Fail) -> Error {
    fetched(fail, 2)
}

fn loss(fail: Fail) -> Error {
    Optimizer::sgd(&[leaf()]).unwrap().step_closure(move || Err(fail())).unwrap_err()
}

fn progress(fail: Fail) -> Error {
    let mut progress = Progress::new().unwrap();
    progress.to_callback(move |_: &str, _: &str, _: &str| Err(fail()), 0.0).unwrap();
    progress.say("text").unwrap_err()
}

fn warning(fail: Fail) -> Error {
    static HANDLER: Mutex<()> = Mutex::new(()); // the process has one
    let _alone = HANDLER.lock();
    set_warning_handler(move |_| Err(fail())).unwrap();
    let error = zeros(&[2, 3]).unwrap().sum_out(&mut zeros(&[4]).unwrap()).unwrap_err();
    set_warning_handler(|_| Ok(())).unwrap();
    error
}

/// Every kind of closure that may fail. A schedule's only panics.
const KINDS: [Kind; 17] = [
    ("hook", hook),
    ("post-accumulate hook", post_accumulate_hook),
    ("module", module),
    ("forward pre-hook", forward_pre_hook),
    ("forward hook", forward_hook),
    ("function's forward", function_forward),
    ("function's backward", function_backward),
    ("pack", pack),
    ("unpack", unpack),
    ("recomputation", recomputation),
    ("dataset", dataset),
    ("dataset on a thread", dataset_on_a_thread),
    ("loss", loss),
    ("progress", progress),
    ("warning", warning),
    ("module in a hook", |fail| hook(Arc::new(move || module(fail.clone())))),
    ("hook in a dataset", |fail| dataset_on_a_thread(Arc::new(move || hook(fail.clone())))),
];

#[derive(Debug)]
struct Mine(u32);

impl fmt::Display for Mine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "mine {}", self.0)
    }
}

impl StdError for Mine {}

#[test]
fn a_failure_comes_back_as_itself() {
    for (kind, caught) in KINDS {
        let error = caught(Arc::new(|| Error::new(Status::NonFinite, "the reason")));
        assert_eq!(error.status(), Status::NonFinite, "{}: {}", kind, error);
        assert!(error.message().contains("the reason"), "{}: {}", kind, error);

        let error = caught(Arc::new(|| Error::other(Mine(7))));
        assert_eq!(error.status(), Status::Callback, "{}: {}", kind, error);
        let source = error.source().and_then(|source| source.downcast_ref::<Mine>());
        assert_eq!(source.map(|mine| mine.0), Some(7), "{}: {}", kind, error);

        let error = caught(Arc::new(|| leaf().reshape(&[3]).unwrap_err()));
        assert_eq!(error.status(), Status::Shape, "{}: {}", kind, error);
        assert!(error.message().contains("[3]"), "{}: {}", kind, error);
    }
}

#[test]
fn a_panic_becomes_an_error_and_can_go_on() {
    let factor = |panics: Fail| {
        let optimizer = Optimizer::sgd(&[leaf()]).unwrap();
        let factor = move |epoch: i64, _| if epoch > 0 { panic!("{}", panics()) } else { 1.0 };
        Scheduler::lambda_lr(&optimizer, factor).unwrap().step().unwrap_err()
    };
    for (kind, caught) in KINDS.into_iter().chain([("schedule", factor as _)]) {
        if kind.ends_with("forward") {
            continue; // runs in the caller's own Rust
        }
        let error = caught(Arc::new(|| panic!("number {}", leaf().numel() + 3)));
        assert!(error.message().contains("number 5"), "{}: {}", kind, error);
        let panic = error.take_panic().expect(kind);
        assert!(error.take_panic().is_none());
        let again = catch_unwind(AssertUnwindSafe(|| resume_unwind(panic))).unwrap_err();
        assert_eq!(again.downcast_ref::<String>().unwrap(), "number 5", "{}", kind);
    }
}
