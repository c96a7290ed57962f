//! Progress shown by a closure.

use std::{
    ffi::CStr,
    mem::size_of,
    os::raw::{c_char, c_void},
};

use crate::{
    access::writing,
    call::check,
    callback::{drop_user, guarded, into_user},
    sys, Progress, Result,
};

unsafe extern "C" fn show<F>(
    user: *mut c_void,
    event: *const c_char,
    text: *const c_char,
    json: *const c_char,
) -> sys::flam_status
where
    F: Fn(&str, &str, &str) -> Result<()> + Send + Sync + 'static,
{
    guarded(|| {
        let [event, text, json] =
            [event, text, json].map(|t| CStr::from_ptr(t).to_string_lossy().into_owned());
        (*(user as *const F))(&event, &text, &json)
    })
}

impl Progress {
    /// Shows progress by `show(event, text, json)`: the event is "progress", "message" or "end",
    /// the text a line for people, and `json` the same as an object. At most every `interval`
    /// seconds; 0 stands for 0.1.
    ///
    /// # Errors
    ///
    /// What the closure fails with comes back from the call that drew.
    pub fn to_callback<F>(&mut self, show: F, interval: f64) -> Result<()>
    where
        F: Fn(&str, &str, &str) -> Result<()> + Send + Sync + 'static,
    {
        let table = sys::flam_progress_callback {
            struct_size: size_of::<sys::flam_progress_callback>(),
            user: into_user(show),
            show: Some(self::show::<F>),
            drop: Some(drop_user::<F>),
        };
        let _access = writing();
        // SAFETY: the table is copied; the library drops `user` once, also where this fails.
        unsafe { check(sys::flam_progress_to_callback(self.raw(), &table, interval)) }
    }
}
