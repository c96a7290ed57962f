//! Closures and objects as C sees them: a boxed `user`, dropped exactly once, and a barrier that no
//! panic passes.

use std::{
    mem::ManuallyDrop,
    os::raw::c_void,
    panic::{catch_unwind, AssertUnwindSafe},
    ptr::NonNull,
    slice,
};

use crate::{access::suspended, handle::Handle, scope::in_callback, sys, Error, Result, Tensor};

/// Runs a callback, outside of the call that it comes from and with scopes of its own; a failure or
/// a panic becomes this thread's error record.
pub(crate) fn guarded(run: impl FnOnce() -> Result<()>) -> sys::flam_status {
    // SAFETY: takes nothing; tensors of Rust release their handles themselves.
    unsafe { sys::flam_frame_leave() };
    let run = || suspended(|| in_callback(run));
    let failure = match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(())) => return sys::FLAM_OK,
        Ok(Err(error)) => error,
        Err(panic) => Error::panicked(panic),
    };
    failure.restore();
    sys::FLAM_ERROR_CALLBACK
}

pub(crate) fn into_user<T>(value: T) -> *mut c_void {
    Box::into_raw(Box::new(value)).cast()
}

/// The `drop` of what `into_user` made.
pub(crate) unsafe extern "C" fn drop_user<T>(user: *mut c_void) {
    // SAFETY: what `into_user` made, given back once.
    let owned = unsafe { Box::from_raw(user as *mut T) };
    let dropped = catch_unwind(AssertUnwindSafe(|| suspended(|| in_callback(|| drop(owned)))));
    std::mem::forget(dropped); // a panic's value may panic on drop itself
}

/// A tensor that C lends for the length of a call.
pub(crate) unsafe fn borrowed(raw: *const sys::flam_tensor) -> Option<ManuallyDrop<Tensor>> {
    NonNull::new(raw as *mut _).map(|raw| ManuallyDrop::new(Tensor::owned(raw)))
}

/// Tensors that C lends; entries may be missing. A `Tensor` is its handle, and `None` is NULL.
pub(crate) unsafe fn borrowed_list<'a>(
    raw: *const *mut sys::flam_tensor,
    n: usize,
) -> &'a [Option<Tensor>] {
    if n == 0 {
        return &[];
    }
    slice::from_raw_parts(raw.cast(), n)
}
