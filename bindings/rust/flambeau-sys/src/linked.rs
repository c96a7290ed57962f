//! A linked library is there already; it may still be older than this crate.

use std::sync::Once;

use crate::{
    flam_error_clear, flam_version, flam_version_require, refused::Refused, FLAM_OK, VERSION,
};

/// The library's functions as the linker finds them.
pub mod symbols {
    use crate::ffi::*;
    use std::os::raw::{c_char, c_void};

    macro_rules! functions {
        ($(fn $name:ident($($arg:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
            extern "C" {
                $(pub fn $name($($arg: $type),*) $(-> $result)?;)*
            }
        };
    }

    include!("gen/functions.rs");
}

static CHECKED: Once = Once::new();
static mut PROBLEM: Option<Refused> = None;

/// Checks the library's version, once.
pub fn load() -> Result<(), &'static Refused> {
    // SAFETY: PROBLEM is written inside `call_once` only and read after it.
    unsafe {
        CHECKED.call_once(|| {
            if flam_version_require(VERSION.0 as i32, VERSION.1 as i32) != FLAM_OK {
                flam_error_clear();
                PROBLEM = Some(Refused::version(flam_version()));
            }
        });
        (*std::ptr::addr_of!(PROBLEM)).as_ref().map_or(Ok(()), Err)
    }
}
