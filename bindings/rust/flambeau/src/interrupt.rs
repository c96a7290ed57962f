//! Waits for other ranks that a closure may end.

use std::{mem::size_of, os::raw::c_void, ptr::null};

use crate::{
    call::check,
    callback::{drop_user, guarded, into_user, user_of},
    sys, Result,
};

unsafe extern "C" fn ask<F>(user: *mut c_void) -> sys::flam_status
where
    F: Fn() -> Result<()> + Send + Sync + 'static,
{
    guarded(|| {
        // SAFETY: what `set_interrupt_handler` boxed.
        let handler = unsafe { user_of::<F>(user) };
        handler()
    })
}

/// Has waits of this thread for other ranks ask a closure, four times a second, whether they shall
/// end, in place of any thread and closure before. What was waited for goes on.
///
/// # Errors
///
/// What the closure fails with is what the call that waits fails with.
pub fn set_interrupt_handler<F>(handler: F) -> Result<()>
where
    F: Fn() -> Result<()> + Send + Sync + 'static,
{
    let table = sys::flam_interrupt_callback {
        struct_size: size_of::<sys::flam_interrupt_callback>(),
        user: into_user(handler),
        check: Some(ask::<F>),
        drop: Some(drop_user::<F>),
    };
    // SAFETY: the table is copied, and the library drops `user` once: where this fails, or when
    // another handler takes its place and no wait asks it any more.
    unsafe { check(sys::flam_set_interrupt_callback(&table)) }
}

/// From now on no wait asks.
///
/// # Errors
///
/// None.
pub fn clear_interrupt_handler() -> Result<()> {
    // SAFETY: no table.
    unsafe { check(sys::flam_set_interrupt_callback(null())) }
}
