//! Scopes of this thread: grad mode, inference mode, autocast, the current device and stream.

use std::marker::PhantomData;

use crate::{
    call::check,
    sys::{self, flam_scope},
    Device, DeviceType, Dtype, Error, Layer, Result, Stream,
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
    pub(crate) fn new(token: flam_scope) -> Self {
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

    /// Lets operations on a kind of device choose their dtype until dropped: `dtype`, or bfloat16
    /// on the cpu and float16 on GPUs, where they gain by it, float32 where they need it. Casts of
    /// parameters are kept until the outermost guard is dropped.
    ///
    /// # Errors
    ///
    /// [`Status::DTYPE`](crate::Status::DTYPE) for a dtype other than float16, bfloat16 and
    /// float32.
    pub fn autocast(device_type: DeviceType, dtype: Option<Dtype>) -> Result<Self> {
        Self::autocast_with(device_type, dtype, true, true)
    }

    /// [`Scope::autocast`], on or off, and with or without keeping casts.
    ///
    /// # Errors
    ///
    /// As [`Scope::autocast`].
    pub fn autocast_with(
        device_type: DeviceType,
        dtype: Option<Dtype>,
        enabled: bool,
        cache_enabled: bool,
    ) -> Result<Self> {
        crate::open_library()?;
        let (dtype, mut token) = (dtype.map_or(0, |d| d.0), 0);
        let (on, cached) = (i32::from(enabled), i32::from(cache_enabled));
        // SAFETY: a place to write to.
        unsafe {
            check(sys::flam_autocast_push(device_type.0, dtype, on, cached, &mut token))?;
        }
        Ok(Self::new(token))
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

/// Runs `f` with autocast on for a kind of device.
///
/// # Errors
///
/// As [`Scope::autocast`].
pub fn autocast<R>(
    device_type: DeviceType,
    dtype: Option<Dtype>,
    f: impl FnOnce() -> R,
) -> Result<R> {
    let _scope = Scope::autocast(device_type, dtype)?;
    Ok(f())
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
