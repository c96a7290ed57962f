//! Errors: the engine's record, taken off the thread after the call that failed, with what a
//! callback failed with.
//!
//! An error that passes through a callback keeps its identity: it is put back as the engine's
//! record, and the caller outside gets the same code, text and Rust value.

use std::{
    any::Any,
    error::Error as StdError,
    fmt,
    os::raw::c_void,
    panic::{catch_unwind, AssertUnwindSafe},
    ptr::{null_mut, NonNull},
    sync::Mutex,
};

use crate::{
    call::{c_text, owned_text},
    sys, Status,
};

/// What fallible calls return.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong: a code to tell errors apart by, and the engine's whole text.
pub struct Error(Box<Inner>);

struct Inner {
    status: Status,
    message: String,
    record: Option<Record>,
    payload: Option<Box<Payload>>,
}

/// A record taken off the thread, and the payload in it where that is ours.
struct Record {
    raw: NonNull<sys::flam_error>,
    payload: *const Payload,
}

// SAFETY: a taken record may be read and released on any thread; a payload is Send and Sync.
unsafe impl Send for Record {}
// SAFETY: as above.
unsafe impl Sync for Record {}

impl Drop for Record {
    fn drop(&mut self) {
        // SAFETY: the record is ours.
        unsafe { sys::flam_error_release(self.raw.as_ptr()) };
    }
}

/// What a Rust callback failed with.
enum Payload {
    Error(Box<dyn StdError + Send + Sync>),
    Panic(Mutex<Option<Box<dyn Any + Send>>>),
}

/// Addresses of the payloads that C holds: a record's payload may be another language's.
static LENT: Mutex<Vec<usize>> = Mutex::new(Vec::new());

fn lent() -> std::sync::MutexGuard<'static, Vec<usize>> {
    LENT.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

unsafe extern "C" fn drop_payload(payload: *mut c_void) {
    lent().retain(|&address| address != payload as usize);
    let dropped = catch_unwind(AssertUnwindSafe(|| drop(Box::from_raw(payload as *mut Payload))));
    std::mem::forget(dropped);
}

impl Error {
    /// An error of the program's own, such as a dataset's.
    pub fn new(status: Status, message: impl Into<String>) -> Self {
        Self(Box::new(Inner { status, message: message.into(), record: None, payload: None }))
    }

    /// Wraps any error, for a callback to fail with; [`StdError::source`] gives it back, also
    /// behind the engine.
    pub fn other(error: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        let error = error.into();
        let message = error.to_string();
        let payload = Some(Box::new(Payload::Error(error)));
        Self(Box::new(Inner { status: Status::Callback, message, record: None, payload }))
    }

    pub(crate) fn panicked(panic: Box<dyn Any + Send>) -> Self {
        let what = panic.downcast_ref::<&str>().map(|s| s.to_string());
        let what = what.or_else(|| panic.downcast_ref::<String>().cloned());
        let message =
            format!("a Rust callback panicked: {}", what.as_deref().unwrap_or("(no text)"));
        let payload = Some(Box::new(Payload::Panic(Mutex::new(Some(panic)))));
        Self(Box::new(Inner { status: Status::Callback, message, record: None, payload }))
    }

    /// Takes the error that a failed call left on this thread.
    pub(crate) fn take() -> Self {
        // SAFETY: the record is this thread's, and taken whole.
        unsafe {
            let payload = sys::flam_error_payload() as *const Payload;
            let payload = if lent().contains(&(payload as usize)) { payload } else { null_mut() };
            let raw = match NonNull::new(sys::flam_error_take()) {
                Some(raw) => raw,
                None => return Self::new(Status::Internal, "a call failed and left no error"),
            };
            let status = Status::from_code(sys::flam_error_code_of(raw.as_ptr()));
            let message =
                owned_text(sys::flam_error_message_of(raw.as_ptr(), sys::FLAM_LANGUAGE_RUST));
            let record = Some(Record { raw, payload });
            Self(Box::new(Inner { status, message, record, payload: None }))
        }
    }

    /// Puts the error back as this thread's record: how a callback fails.
    pub(crate) fn restore(mut self) {
        if let Some(record) = self.0.record.take() {
            let record = std::mem::ManuallyDrop::new(record);
            // SAFETY: the record is given away.
            unsafe { sys::flam_error_restore(record.raw.as_ptr()) };
            return;
        }
        let message = c_text(&self.0.message.replace('\0', " ")).expect("no zero bytes");
        let payload = self.0.payload.take().map_or(null_mut(), Box::into_raw);
        let mut drop = None;
        if !payload.is_null() {
            lent().push(payload as usize);
            drop = Some(drop_payload as unsafe extern "C" fn(*mut c_void));
        }
        // SAFETY: the payload is given away with what drops it.
        unsafe { sys::flam_error_set(message.as_ptr(), payload.cast(), drop) };
    }

    fn payload(&self) -> Option<&Payload> {
        // SAFETY: a record's payload lives as long as the record.
        let recorded = self.0.record.as_ref().and_then(|record| unsafe { record.payload.as_ref() });
        recorded.or(self.0.payload.as_deref())
    }

    /// Which kind of error it is.
    pub fn status(&self) -> Status {
        self.0.status
    }

    /// The problem in one line, then facts, cause and what fixes it.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// What a callback panicked with, once: for [`std::panic::resume_unwind`].
    pub fn take_panic(&self) -> Option<Box<dyn Any + Send>> {
        match self.payload()? {
            Payload::Panic(panic) => panic.lock().ok()?.take(),
            Payload::Error(_) => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error({:?}): {}", self.0.status, self.0.message)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self.payload()? {
            Payload::Error(error) => Some(error.as_ref()),
            Payload::Panic(_) => None,
        }
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self::other(error)
    }
}
