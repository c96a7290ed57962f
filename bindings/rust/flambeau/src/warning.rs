//! Warnings told to a closure.

use std::{
    ffi::CStr,
    mem::size_of,
    os::raw::{c_char, c_void},
};

use crate::{
    access::writing,
    call::check,
    callback::{drop_user, guarded, into_user},
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
        let message = CStr::from_ptr(message).to_string_lossy().into_owned();
        (*(user as *const F))(&message)
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
    // SAFETY: the table is copied; the library drops `user` once, also where this fails.
    unsafe { check(sys::flam_set_warning_callback(&table)) }
}
