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
    // SAFETY: takes nothing. The frame would release handles at the callback's return that tensors
    // of Rust release in their drop.
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
///
/// # Safety
///
/// `user` is of `into_user::<T>`, and nothing uses it afterwards: C calls `drop` once, and last.
pub(crate) unsafe extern "C" fn drop_user<T>(user: *mut c_void) {
    // SAFETY: the caller's: the box that `into_user` let go, with the type that it had.
    let owned = unsafe { Box::from_raw(user as *mut T) };
    let dropped = catch_unwind(AssertUnwindSafe(|| suspended(|| in_callback(|| drop(owned)))));
    std::mem::forget(dropped); // a panic's value may panic on drop itself
}

/// What `into_user` made, for the length of a callback.
///
/// # Safety
///
/// `user` is of `into_user::<T>`, and C has not dropped it.
pub(crate) unsafe fn user_of<'a, T>(user: *mut c_void) -> &'a T {
    // SAFETY: the caller's: a box's content, which stays in its place and is only shared.
    unsafe { &*(user as *const T) }
}

/// A tensor that C lends for the length of a call.
///
/// # Safety
///
/// NULL, or live until the result is gone.
pub(crate) unsafe fn borrowed(raw: *const sys::flam_tensor) -> Option<ManuallyDrop<Tensor>> {
    // SAFETY: the caller's; the count stays C's, because the result is never dropped.
    NonNull::new(raw as *mut _).map(|raw| ManuallyDrop::new(unsafe { Tensor::owned(raw) }))
}

/// Tensors that C lends; entries may be missing.
///
/// # Safety
///
/// `n` handles, live or NULL, that stay until the result is gone.
pub(crate) unsafe fn borrowed_list<'a>(
    raw: *const *mut sys::flam_tensor,
    n: usize,
) -> &'a [Option<Tensor>] {
    if n == 0 {
        return &[];
    }
    // SAFETY: the caller's; `Tensor` is `repr(transparent)` over `NonNull`, so that an
    // `Option<Tensor>` has the bits of a handle, and `None` is NULL.
    unsafe { slice::from_raw_parts(raw.cast(), n) }
}
