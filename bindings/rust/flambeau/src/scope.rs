//! Scopes of this thread: grad mode, inference mode, the current device and stream.

use std::marker::PhantomData;

use crate::{
    call::check,
    sys::{self, flam_scope},
    Device, Error, Layer, Result, Stream,
};

/// A setting of this thread that ends with the guard, also when a panic unwinds; guards end in
/// reverse order.
#[must_use = "the scope ends when this is dropped"]
#[derive(Debug)]
pub struct Scope {
    token: flam_scope,
    thread: PhantomData<*const ()>, // the setting is the thread's: neither Send nor Sync
}

impl Scope {
    fn new(token: flam_scope) -> Self {
        Self { token, thread: PhantomData }
    }

    /// Records nothing until dropped.
    pub fn no_grad() -> Self {
        // SAFETY: no arguments that could be wrong.
        Self::new(unsafe { sys::flam_grad_mode_push(0) })
    }

    /// Records again, inside of [`Scope::no_grad`].
    pub fn enable_grad() -> Self {
        // SAFETY: as above.
        Self::new(unsafe { sys::flam_grad_mode_push(1) })
    }

    /// Records nothing, and keeps tensors made meanwhile outside autograd for good.
    pub fn inference() -> Self {
        // SAFETY: as above.
        Self::new(unsafe { sys::flam_inference_mode_push(1) })
    }

    /// Labels memory with the module's path, for out-of-memory errors and snapshots.
    /// Calling a module does so by itself.
    pub fn module(module: &Layer) -> Self {
        // SAFETY: the handle lives; the label outlives it.
        Self::new(unsafe { sys::flam_module_push(module.raw()) })
    }

    /// Ends the scope, saying whether it was the innermost one.
    ///
    /// # Errors
    ///
    /// [`Status::SCOPE`](crate::Status::SCOPE) where a scope opened later is still open; nothing
    /// changes then.
    pub fn end(self) -> Result<()> {
        let token = std::mem::ManuallyDrop::new(self).token;
        // SAFETY: a guard cannot leave its thread.
        unsafe { check(sys::flam_scope_pop(token)) }
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        // SAFETY: as in `end`.
        if unsafe { sys::flam_scope_pop(self.token) } != sys::FLAM_OK {
            drop(Error::take()); // dropped out of order: the outer guard restores the state
        }
    }
}

/// Runs `f` without recording.
pub fn no_grad<R>(f: impl FnOnce() -> R) -> R {
    let _scope = Scope::no_grad();
    f()
}

/// Runs `f` with recording, inside of [`no_grad`].
pub fn enable_grad<R>(f: impl FnOnce() -> R) -> R {
    let _scope = Scope::enable_grad();
    f()
}

/// Runs `f` in inference mode.
pub fn inference_mode<R>(f: impl FnOnce() -> R) -> R {
    let _scope = Scope::inference();
    f()
}

impl Device {
    /// Makes this the current device of its kind until the guard is dropped.
    ///
    /// # Errors
    ///
    /// [`Status::NO_GPU`](crate::Status::NO_GPU) and the like where there is no such device.
    pub fn push(self) -> Result<Scope> {
        crate::open_library()?;
        let mut token = 0;
        // SAFETY: a place to write to.
        unsafe { check(sys::flam_device_push(self.0, &mut token))? };
        Ok(Scope::new(token))
    }
}

impl Stream {
    /// Makes this the current stream of its device until the guard is dropped.
    ///
    /// # Errors
    ///
    /// Those of the device.
    pub fn push(&self) -> Result<Scope> {
        let mut token = 0;
        // SAFETY: a live handle and a place to write to.
        unsafe { check(sys::flam_stream_push(self.raw(), &mut token))? };
        Ok(Scope::new(token))
    }
}
