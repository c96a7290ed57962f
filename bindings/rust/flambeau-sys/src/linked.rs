//! A linked library is there already; it may still be older than this crate.

use std::{ffi::CStr, sync::Once};

use crate::{flam_error_clear, flam_error_message, flam_version_require, FLAM_OK, VERSION};

static CHECKED: Once = Once::new();
static mut PROBLEM: Option<String> = None;

/// Checks the library's version, once.
pub fn load() -> Result<(), &'static str> {
    // SAFETY: PROBLEM is written inside `call_once` only and read after it.
    unsafe {
        CHECKED.call_once(|| {
            if flam_version_require(VERSION.0 as i32, VERSION.1 as i32) != FLAM_OK {
                PROBLEM = Some(CStr::from_ptr(flam_error_message()).to_string_lossy().into_owned());
                flam_error_clear();
            }
        });
        (*std::ptr::addr_of!(PROBLEM)).as_deref().map_or(Ok(()), Err)
    }
}
