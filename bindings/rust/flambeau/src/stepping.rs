//! Closures that optimizers and schedules call: the loss computed anew, and factors of a rate.

use std::{mem::size_of, os::raw::c_void};

use crate::{
    access::writing,
    call::{check, made},
    callback::{drop_user, guarded, into_user, user_of},
    sys, Optimizer, Result, Scheduler,
};

unsafe extern "C" fn compute_loss<F>(user: *mut c_void, out: *mut f64) -> sys::flam_status
where
    F: FnMut() -> Result<f64>,
{
    guarded(|| {
        // SAFETY: `user` is the closure of the `step_closure` that waits for this call, whose table
        // nobody else has; the engine calls it once at a time.
        let loss = unsafe { &mut *(user as *mut F) }()?;
        // SAFETY: C's place for one number.
        unsafe { *out = loss };
        Ok(())
    })
}

impl Optimizer {
    /// Computes the loss and its gradients by `closure`, then changes the parameters; L-BFGS calls
    /// it as often as it needs. The result is the loss of the first call.
    ///
    /// # Errors
    ///
    /// What the closure failed with; those of [`Optimizer::step`].
    pub fn step_closure<F>(&mut self, mut closure: F) -> Result<f64>
    where
        F: FnMut() -> Result<f64>,
    {
        let table = sys::flam_closure {
            struct_size: size_of::<sys::flam_closure>(),
            user: (&mut closure as *mut F).cast(),
            call: Some(compute_loss::<F>),
            drop: None,
        };
        let mut loss = 0.0;
        let _access = writing();
        // SAFETY: `self` keeps the optimizer; the closure lives until the call returns, and the
        // table without `drop` is not used afterwards.
        unsafe { check(sys::flam_optimizer_step_closure(self.raw(), &table, &mut loss))? };
        Ok(loss)
    }
}

unsafe extern "C" fn rate_factor<F>(
    user: *mut c_void,
    epoch: i64,
    group: usize,
    out: *mut f64,
) -> sys::flam_status
where
    F: Fn(i64, usize) -> f64,
{
    guarded(|| {
        // SAFETY: `user` is what `rate_callback` boxed.
        let factor = unsafe { user_of::<F>(user) }(epoch, group);
        // SAFETY: C's place for one number.
        unsafe { *out = factor };
        Ok(())
    })
}

fn rate_callback<F>(factor: F) -> sys::flam_rate_callback
where
    F: Fn(i64, usize) -> f64 + Send + Sync + 'static,
{
    sys::flam_rate_callback {
        struct_size: size_of::<sys::flam_rate_callback>(),
        user: into_user(factor),
        call: Some(rate_factor::<F>),
        drop: Some(drop_user::<F>),
    }
}

impl Scheduler {
    /// Multiplies the first learning rate by `factor(epoch, group)`.
    ///
    /// # Errors
    ///
    /// What the function panicked with, as an error.
    pub fn lambda_lr<F>(optimizer: &Optimizer, factor: F) -> Result<Scheduler>
    where
        F: Fn(i64, usize) -> f64 + Send + Sync + 'static,
    {
        let table = rate_callback(factor);
        let _access = writing();
        // SAFETY: `optimizer` keeps its handle; the table is copied, and the library drops `user`
        // once, also where this fails.
        unsafe { made(sys::flam_lambda_lr_new(optimizer.raw(), &table)) }
    }

    /// Multiplies the present learning rate by `factor(epoch, group)`.
    ///
    /// # Errors
    ///
    /// What the function panicked with, as an error.
    pub fn multiplicative_lr<F>(optimizer: &Optimizer, factor: F) -> Result<Scheduler>
    where
        F: Fn(i64, usize) -> f64 + Send + Sync + 'static,
    {
        let table = rate_callback(factor);
        let _access = writing();
        // SAFETY: `optimizer` keeps its handle; the table is copied, and the library drops `user`
        // once, also where this fails.
        unsafe { made(sys::flam_multiplicative_lr_new(optimizer.raw(), &table)) }
    }
}
