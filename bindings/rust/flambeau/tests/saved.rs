//! Closures around saved values, and checkpoints.

mod place;

use std::{
    panic::{catch_unwind, AssertUnwindSafe},
    sync::{
        atomic::{AtomicUsize, Ordering::SeqCst},
        Arc,
    },
};

use flambeau::{
    autograd::{checkpoint, checkpoint_with, CheckpointOptions, Saved},
    nn::Layer,
    Error, Result, Scope, Status, Tensor,
};

fn leaf(values: &[f32]) -> Tensor {
    let mut t = Tensor::from(values);
    t.set_requires_grad(true).unwrap();
    t
}

fn grad_of(t: &Tensor) -> Vec<f32> {
    t.grad().unwrap().expect("a gradient").to_vec().unwrap()
}

struct Counted(Vec<f32>, Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.1.fetch_add(1, SeqCst);
    }
}

#[test]
fn values_go_through_the_closures_and_are_dropped() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&dropped);
    let x = leaf(&[1.0, 2.0]);
    let y = {
        let _hooks = Scope::saved_hooks(
            move |t: &Tensor| Ok(Counted(t.to_vec()?, Arc::clone(&count))),
            |kept: &Counted| Ok(Tensor::from(&kept.0[..])),
        )
        .unwrap();
        (&x * &x).sum().unwrap()
    };
    assert_eq!(dropped.load(SeqCst), 0);
    y.backward().unwrap();
    assert_eq!(grad_of(&x), [2.0, 4.0]);
    assert_eq!((dropped.load(SeqCst), Arc::strong_count(&dropped)), (2, 1));
}

#[test]
fn failures_and_panics_of_closures_come_back() {
    let x = leaf(&[1.0]);
    let fails = |_: &Tensor| -> Result<Tensor> { Err(Error::new(Status::Internal, "no room")) };
    {
        let _hooks = Scope::saved_hooks(fails, |t: &Tensor| Ok(t.clone())).unwrap();
        assert!(x.exp().unwrap_err().to_string().contains("no room"));
    }
    let y = {
        let _hooks = Scope::saved_hooks(
            |t: &Tensor| Ok(t.clone()),
            |_: &Tensor| -> Result<Tensor> { panic!("on unpack") },
        )
        .unwrap();
        x.exp().unwrap()
    };
    let outcome = catch_unwind(AssertUnwindSafe(|| y.backward()));
    assert!(!matches!(outcome, Ok(Ok(()))));
    x.exp().unwrap().backward().unwrap();
}

#[test]
fn hooks_can_be_forbidden() {
    let scope = Scope::without_saved_hooks("not here").unwrap();
    assert_eq!(Saved::hooks_disabled().as_deref(), Some("not here"));
    let refused = Scope::saved_hooks(|t: &Tensor| Ok(t.clone()), |t: &Tensor| Ok(t.clone()));
    assert!(refused.unwrap_err().to_string().contains("not here"));
    scope.end().unwrap();
    assert_eq!(Saved::hooks_disabled(), None);
}

#[test]
fn a_closure_runs_again_in_backward() {
    let runs = Arc::new(AtomicUsize::new(0));
    for early_stop in [true, false] {
        let x = leaf(&[0.0, 1.0]);
        let counted = Arc::clone(&runs);
        let function = move |inputs: &[&Tensor]| {
            counted.fetch_add(1, SeqCst);
            inputs[0].exp()?.exp()
        };
        let options = CheckpointOptions::default().early_stop(early_stop);
        let y = checkpoint_with(function, &[&x], options).unwrap();
        assert_eq!(runs.swap(0, SeqCst), 1);
        y.sum().unwrap().backward().unwrap();
        assert_eq!(runs.swap(0, SeqCst), 1);
        let plain = leaf(&[0.0, 1.0]);
        plain.exp().unwrap().exp().unwrap().sum().unwrap().backward().unwrap();
        assert_eq!(grad_of(&x), grad_of(&plain));
    }
    assert_eq!(Arc::strong_count(&runs), 1);
}

#[test]
fn a_run_that_differs_is_told() {
    let turn = AtomicUsize::new(0);
    let x = leaf(&[1.0]);
    let y = checkpoint(
        move |inputs: &[&Tensor]| match turn.fetch_add(1, SeqCst) {
            0 => inputs[0].exp()?.exp(),
            _ => inputs[0].exp(),
        },
        &[&x],
    );
    let error = y.unwrap().backward().unwrap_err();
    assert_eq!(error.status(), Status::Recompute);
}

#[test]
fn a_checkpointed_module_drops_the_same_elements_twice() {
    let layer = Layer::dropout_with(0.5).unwrap();
    let x = leaf(&[1.0; 64]);
    let y = layer.checkpoint(&[&x]).unwrap();
    (&y * &x).sum().unwrap().backward().unwrap();
    let twice: Vec<f32> = y.to_vec::<f32>().unwrap().iter().map(|v| 2.0 * v).collect();
    assert_eq!(grad_of(&x), twice);
}
