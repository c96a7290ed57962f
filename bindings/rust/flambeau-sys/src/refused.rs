//! Why a library will not do.

use crate::{flam_status, FLAM_ERROR_ABI_VERSION, VERSION};

/// Why there is no library to call.
#[derive(Debug)]
pub struct Refused {
    /// `FLAM_ERROR_LIBRARY_MISSING` or `FLAM_ERROR_ABI_VERSION`.
    pub status: flam_status,
    /// What was tried and found, and what helps.
    pub message: String,
}

impl Refused {
    pub(crate) fn version(found: u32) -> Self {
        let message = format!(
            "version {}.{}.{}; this program needs {}.{} or a later {}.x",
            found >> 16,
            found >> 8 & 255,
            found & 255,
            VERSION.0,
            VERSION.1,
            VERSION.0
        );
        Self { status: FLAM_ERROR_ABI_VERSION, message }
    }

    #[cfg(any(feature = "load", not(feature = "link")))]
    pub(crate) fn older(function: &str) -> Self {
        let function = function.trim_end_matches('\0');
        let message = format!("it is older than this program: it has no function {}", function);
        Self { status: FLAM_ERROR_ABI_VERSION, message }
    }
}
