//! Functions whose gradient the program writes.

use std::{ffi::CString, mem::size_of, os::raw::c_void, sync::RwLock};

use crate::{
    access::{reading, writing},
    call::{list, listed, made, pointers},
    callback::{borrowed_list, drop_user, guarded, into_user, user_of},
    no_grad, sys, Error, Result, Saved, Status, Tensor,
};

/// A function with a gradient of its own. Its fields are its options.
///
/// ```
/// use flambeau::{autograd::{apply, Context, Function}, Result, Tensor};
///
/// struct Exp;
/// impl Function for Exp {
///     fn forward(&self, context: &mut Context, inputs: &[&Tensor]) -> Result<Vec<Tensor>> {
///         let y = inputs[0].exp()?;
///         context.save(&y);
///         Ok(vec![y])
///     }
///     fn backward(
///         &self,
///         context: &Context,
///         grads: &[Option<Tensor>],
///     ) -> Result<Vec<Option<Tensor>>> {
///         let y = &context.saved()?[0];
///         Ok(vec![grads[0].as_ref().map(|grad| grad.mul(y)).transpose()?])
///     }
/// }
/// # fn main() -> Result<()> {
/// let mut x = Tensor::from([0.0f32, 1.0]);
/// x.set_requires_grad(true)?;
/// apply(Exp, &[&x])?[0].sum()?.backward()?;
/// assert_eq!(x.grad()?.unwrap().to_vec::<f32>()?[0], 1.0);
/// # Ok(())
/// # }
/// ```
pub trait Function: Send + Sync + 'static {
    /// Shown as `grad_fn`; the type's name unless told.
    fn name(&self) -> String {
        crate::modules::short_name::<Self>()
    }

    /// Computes the results; nothing is recorded meanwhile.
    ///
    /// # Errors
    ///
    /// Any; the caller of [`apply`] gets it.
    fn forward(&self, context: &mut Context, inputs: &[&Tensor]) -> Result<Vec<Tensor>>;

    /// From the gradients of the results, of which some may be missing, those of the inputs; `None`
    /// is zero.
    ///
    /// # Errors
    ///
    /// Any; the caller of backward gets it.
    fn backward(&self, context: &Context, grads: &[Option<Tensor>]) -> Result<Vec<Option<Tensor>>>;
}

/// What a function keeps from forward to backward.
#[derive(Debug, Default)]
pub struct Context {
    to_save: Vec<Tensor>,
    constant: Vec<Tensor>,
    saved: RwLock<Option<Vec<Saved>>>,
}

impl Context {
    /// Keeps an operand or a result for backward, with the version it has.
    pub fn save(&mut self, tensor: &Tensor) {
        self.to_save.push(tensor.clone());
    }

    /// Says that a result carries no gradient.
    pub fn mark_non_differentiable(&mut self, tensor: &Tensor) {
        self.constant.push(tensor.clone());
    }

    /// What was saved, in order.
    ///
    /// # Errors
    ///
    /// [`Status::Autograd`] where one was written in place since, or after a backward that freed
    /// the graph.
    pub fn saved(&self) -> Result<Vec<Tensor>> {
        let saved = self.saved.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        let saved = saved.as_ref().ok_or_else(|| {
            Error::new(
                Status::Autograd,
                "saved values were freed by a backward before; give it retain_graph: true",
            )
        })?;
        let _access = reading();
        // SAFETY: the saved values are this context's own handles, locked against `release_saved`.
        saved.iter().map(|s| unsafe { made(sys::flam_saved_get(s.raw())) }).collect()
    }

    /// Whether a running backward needs the gradient of an input.
    pub fn wants(&self, input: usize) -> bool {
        // SAFETY: any number may be given, outside of a backward too.
        unsafe { sys::flam_function_wanted(input) != 0 }
    }

    fn keep(&mut self, outputs: &[Tensor]) -> Result<()> {
        let mut kept = Vec::new();
        let _access = reading();
        for tensor in self.to_save.drain(..) {
            let number = outputs.iter().position(|y| y.is(&tensor)).map_or(-1, |n| n as i64);
            // SAFETY: `tensor` is a handle of ours until the end of the turn; the number is a
            // result's or -1.
            kept.push(unsafe { made(sys::flam_saved_new(tensor.raw(), number))? });
        }
        self.saved = RwLock::new(Some(kept));
        Ok(())
    }
}

type User<F> = (F, Context);

unsafe extern "C" fn run_backward<F: Function>(
    user: *mut c_void,
    grads: *const *mut sys::flam_tensor,
    n: usize,
    out: *mut *mut sys::flam_tensor,
    n_out: usize,
) -> sys::flam_status {
    guarded(|| {
        // SAFETY: `user` is what `apply` boxed, and C lends `n` gradients for the call.
        let ((function, context), grads) =
            unsafe { (user_of::<User<F>>(user), borrowed_list(grads, n)) };
        let made = function.backward(context, grads)?;
        if made.len() != n_out {
            let text = format!(
                "{}: backward returned {} gradients for {} inputs",
                function.name(),
                made.len(),
                n_out
            );
            return Err(Error::new(Status::InvalidArgument, text));
        }
        for (i, grad) in made.into_iter().enumerate() {
            // SAFETY: there are as many places as `n_out` says, which `made` was held to.
            unsafe { *out.add(i) = grad.map_or(std::ptr::null_mut(), Tensor::into_ptr) };
        }
        Ok(())
    })
}

unsafe extern "C" fn release_saved<F: Function>(user: *mut c_void) {
    // SAFETY: `user` is what `apply` boxed; `drop` comes after the last call.
    let (_, context) = unsafe { user_of::<User<F>>(user) };
    let freed = context.saved.write().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
    drop(freed);
}

/// Runs a function's forward, and records its gradient where an input requires one.
///
/// # Errors
///
/// Those of its forward.
pub fn apply<F: Function>(function: F, inputs: &[&Tensor]) -> Result<Vec<Tensor>> {
    crate::open_library()?;
    let mut context = Context::default();
    let outputs = no_grad(|| function.forward(&mut context, inputs))?;
    context.keep(&outputs)?;
    let name = CString::new(function.name().replace('\0', "")).expect("no zero bytes");
    let constants = std::mem::take(&mut context.constant);
    let (inputs, results, constant) = (pointers(inputs), pointers(&outputs), pointers(&constants));
    let record = sys::flam_function {
        struct_size: size_of::<sys::flam_function>(),
        user: into_user((function, context)),
        name: name.as_ptr(),
        materialize_grads: 0,
        backward: Some(run_backward::<F>),
        release_saved: Some(release_saved::<F>),
        drop: Some(drop_user::<User<F>>),
    };
    // The results become outputs of the function.
    let _access = writing();
    let options = sys::flam_function_record_options {
        non_differentiable: listed(&constant),
        n_non_differentiable: constant.len(),
        ..Default::default()
    };
    // SAFETY: the three lists have their own lengths and outlast the call, as the tensors behind
    // them do; the record and the name are copied, and the library
    // drops `user` once, also where this fails.
    unsafe {
        list(sys::flam_function_record(
            &record,
            inputs.as_ptr(),
            inputs.len(),
            results.as_ptr(),
            results.len(),
            &options,
        ))
    }
}
