//! Gradients, modes, hooks and functions of the program's own.

mod place;

use std::{
    panic::catch_unwind,
    sync::{
        atomic::{AtomicUsize, Ordering::SeqCst},
        Arc,
    },
};

use flambeau::{
    autograd::{
        apply, backward_with, grad, grad_enabled, grad_with, BackwardOptions, Context, Function,
        GradOptions,
    },
    inference_mode, no_grad, Result, Scope, Status, Tensor,
};

fn leaf(values: &[f32]) -> Tensor {
    let mut t = Tensor::from(values);
    t.set_requires_grad(true).unwrap();
    t
}

fn grad_of(t: &Tensor) -> Vec<f32> {
    t.grad().unwrap().expect("a gradient").to_vec().unwrap()
}

#[test]
fn backward_accumulates_and_grad_does_not() {
    let x = leaf(&[1.0, 2.0]);
    let y = (&x * &x).sum().unwrap();
    y.backward().unwrap();
    assert_eq!(grad_of(&x), [2.0, 4.0]);
    assert_eq!(y.backward().unwrap_err().status(), Status::Autograd);
    let y = &x * &x;
    let seed = Tensor::from([1.0f32, 10.0]);
    let seeds = [Some(&seed)];
    backward_with(&[&y], BackwardOptions::default().grad_tensors(&seeds)).unwrap();
    assert_eq!(grad_of(&x), [4.0, 44.0]);
    let y = (&x * 2.0).sum().unwrap();
    let none = BackwardOptions::default().grad_tensors(&[]).retain_graph(true);
    backward_with(&[&y], none).unwrap();
    assert_eq!(grad_of(&x), [6.0, 46.0]);
    let into_none = backward_with(&[&y], none.inputs(&[])).unwrap_err();
    assert!(into_none.to_string().contains("inputs has no entries"), "{}", into_none);
    let g = grad_with(&[&y], &[&x], GradOptions::default().grad_outputs(&[])).unwrap();
    assert_eq!(g[0].as_ref().unwrap().to_vec::<f32>().unwrap(), [2.0, 2.0]);
    let g = grad(&[(&x * 3.0).sum().unwrap()], &[&x]).unwrap();
    assert_eq!(g[0].to_vec::<f32>().unwrap(), [3.0, 3.0]);
    assert_eq!(grad_of(&x), [6.0, 46.0]);
}

#[test]
fn second_derivatives_and_unused_inputs() {
    let (x, z) = (leaf(&[2.0]), leaf(&[1.0]));
    let y = &(&x * &x) * &x;
    let once = grad_with(&[&y], &[&x], GradOptions::default().create_graph(true)).unwrap();
    let twice = grad(&[once[0].as_ref().unwrap()], &[&x]).unwrap();
    assert_eq!(twice[0].item::<f32>().unwrap(), 12.0);
    let y = &x * 2.0;
    assert_eq!(grad(&[&y], &[&z]).unwrap_err().status(), Status::Autograd);
    let none = grad_with(&[&y], &[&z], GradOptions::default().allow_unused(true)).unwrap();
    assert!(none[0].is_none());
}

#[test]
fn modes_end_with_their_scope_also_by_panic() {
    let x = leaf(&[1.0]);
    assert!(!no_grad(|| (&x * 2.0).requires_grad()));
    assert!(grad_enabled());
    let panic = catch_unwind(|| no_grad(|| panic!("inside"))).unwrap_err();
    assert_eq!(*panic.downcast_ref::<&str>().unwrap(), "inside");
    assert!(grad_enabled());
    assert!(inference_mode(|| (&x * 2.0).is_inference()));
    let outer = Scope::no_grad();
    let inner = Scope::enable_grad();
    assert!(grad_enabled());
    inner.end().unwrap();
    assert!(!grad_enabled());
    outer.end().unwrap();
    assert!(grad_enabled());
}

struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn hooks_replace_gradients_and_are_dropped_once() {
    let drops = Arc::new(AtomicUsize::new(0));
    {
        let mut x = leaf(&[1.0]);
        let counted = Counted(drops.clone());
        let hook = x
            .register_hook(move |grad| {
                let _ = &counted;
                grad.mul(10.0).map(Some)
            })
            .unwrap();
        (&x * 2.0).backward().unwrap();
        assert_eq!(grad_of(&x), [20.0]);
        let mut hook = hook;
        hook.remove();
        (&x * 2.0).backward().unwrap();
        assert_eq!(grad_of(&x), [22.0]);
    }
    assert_eq!(drops.load(SeqCst), 1);
    let counted = Counted(drops.clone());
    let mut plain = Tensor::from([1.0f32]);
    let refused = plain.register_hook(move |_| {
        let _ = &counted;
        Ok(None)
    });
    assert_eq!(refused.unwrap_err().status(), Status::Autograd);
    assert_eq!(drops.load(SeqCst), 2);
}

struct Cube {
    #[allow(dead_code)]
    counted: Counted,
}

impl Function for Cube {
    fn forward(&self, context: &mut Context, inputs: &[&Tensor]) -> Result<Vec<Tensor>> {
        assert!(!grad_enabled());
        context.save(inputs[0]);
        Ok(vec![inputs[0].pow(3)?])
    }

    fn backward(&self, context: &Context, grads: &[Option<Tensor>]) -> Result<Vec<Option<Tensor>>> {
        let x = &context.saved()?[0];
        let grad = grads[0].as_ref().expect("one result, so one gradient");
        Ok(vec![Some(grad.mul(&x.mul(x)?.mul(3.0)?)?)])
    }
}

#[test]
fn a_function_of_the_programs_own() {
    let drops = Arc::new(AtomicUsize::new(0));
    {
        let x = leaf(&[1.0, 2.0]);
        let y = apply(Cube { counted: Counted(drops.clone()) }, &[&x]).unwrap().remove(0);
        assert_eq!(y.grad_fn().unwrap().unwrap().name(), "Cube");
        let total = y.sum().unwrap();
        backward_with(&[&total], BackwardOptions::default().retain_graph(true)).unwrap();
        total.backward().unwrap();
        assert_eq!(grad_of(&x), [6.0, 24.0]);
        // The sum saved nothing and runs again; the function finds that its own values are gone.
        let error = total.backward().unwrap_err();
        assert_eq!(error.status(), Status::Autograd);
        assert!(error.message().contains("saved values were freed"), "{}", error);
    }
    assert_eq!(drops.load(SeqCst), 1);
    let mut x = leaf(&[2.0]);
    let y = apply(Cube { counted: Counted(drops.clone()) }, &[&x]).unwrap().remove(0);
    no_grad(|| x.add_(1.0).map(drop)).unwrap();
    assert_eq!(y.backward().unwrap_err().status(), Status::Autograd);
}

struct TooMany;

impl Function for TooMany {
    fn forward(&self, _: &mut Context, inputs: &[&Tensor]) -> Result<Vec<Tensor>> {
        inputs[0].mul(2.0).map(|y| vec![y])
    }

    fn backward(&self, _: &Context, grads: &[Option<Tensor>]) -> Result<Vec<Option<Tensor>>> {
        Ok(vec![grads[0].clone(), grads[0].clone()])
    }
}

#[test]
fn the_number_of_gradients_is_checked() {
    let error = apply(TooMany, &[&leaf(&[1.0])]).unwrap()[0].backward().unwrap_err();
    assert!(
        error.message().contains("TooMany: backward returned 2 gradients for 1 inputs"),
        "{}",
        error
    );
}
