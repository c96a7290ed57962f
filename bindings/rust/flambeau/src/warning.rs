//! Warnings told to a closure.

use std::{
    mem::size_of,
    os::raw::{c_char, c_void},
};

use crate::{
    access::writing,
    call::{check, owned_text},
    callback::{drop_user, guarded, into_user, user_of},
    sys, Result,
};

unsafe extern "C" fn warn<F>(
    user: *mut c_void,
    _kind: sys::flam_warning,
    message: *const c_char,
) -> sys::flam_status
where
    F: Fn(&str) -> Result<()> + Send + Sync + 'static,
{
    guarded(|| {
        // SAFETY: a text that C lends for the call, and what `set_warning_handler` boxed.
        let (message, handler) = unsafe { (owned_text(message), user_of::<F>(user)) };
        handler(&message)
    })
}

/// Has warnings told to a closure, on the thread whose call they are about, in place of whoever was
/// told before. Until then nobody is.
///
/// # Errors
///
/// What the closure fails with is what the call that it is told of fails with, which has done
/// nothing then.
pub fn set_warning_handler<F>(handler: F) -> Result<()>
where
    F: Fn(&str) -> Result<()> + Send + Sync + 'static,
{
    let table = sys::flam_warning_callback {
        struct_size: size_of::<sys::flam_warning_callback>(),
        user: into_user(handler),
        warn: Some(warn::<F>),
        drop: Some(drop_user::<F>),
        language: sys::FLAM_LANGUAGE_RUST,
        reserved: 0,
    };
    let _access = writing();
    // SAFETY: the table is copied, and the library drops `user` once: where this fails, or when
    // another handler takes its place and no call runs it any more.
    unsafe { check(sys::flam_set_warning_callback(&table)) }
}
