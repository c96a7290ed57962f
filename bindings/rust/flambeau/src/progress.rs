//! Progress shown by a closure.

use std::{
    mem::size_of,
    os::raw::{c_char, c_void},
};

use crate::{
    access::writing,
    call::{check, owned_text},
    callback::{drop_user, guarded, into_user, user_of},
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
        // SAFETY: three texts that C lends for the call, none of them NULL.
        let [event, text, json] = [event, text, json].map(|t| unsafe { owned_text(t) });
        // SAFETY: `user` is what `to_callback` boxed.
        let show = unsafe { user_of::<F>(user) };
        show(&event, &text, &json)
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
        // SAFETY: `self` keeps the progress; the table is copied, and the library drops `user`
        // once, also where this fails.
        unsafe { check(sys::flam_progress_to_callback(self.raw(), &table, interval)) }
    }
}
