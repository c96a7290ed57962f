//! Errors: the engine's record, taken off the thread after the call that failed, with what a
//! callback failed with.
//!
//! An error that passes through a callback keeps its identity: one of the engine's is put back as
//! its record, one of the program's travels as the record's payload, and the caller outside gets
//! the same status, text and Rust value.

use std::{
    any::Any,
    error::Error as StdError,
    fmt,
    mem::ManuallyDrop,
    os::raw::c_void,
    ptr::{null, NonNull},
    sync::Mutex,
};

use crate::{
    call::{c_text, owned_text},
    callback::{drop_user, into_user},
    sys, Status,
};

/// What fallible calls return.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong: a status to tell errors apart by, and the engine's whole text.
///
/// What a callback fails with, its caller gets, through however many calls of the engine: the same
/// status, the text (a module's with its place in the tree) and the value behind it.
///
/// ```
/// use flambeau::{nn::Layer, zeros, Error, Status};
/// use std::error::Error as _;
///
/// # fn main() -> flambeau::Result<()> {
/// let x = zeros(&[2])?;
/// assert_eq!(x.reshape(&[3]).unwrap_err().status(), Status::Shape);
///
/// let refuses = Layer::from_fn(|_| Err(Error::new(Status::Unsupported, "not today")))?;
/// let error = refuses.forward(&x).unwrap_err();
/// assert_eq!(error.status(), Status::Unsupported);
/// assert!(error.message().starts_with("not today"));
///
/// let reads = Layer::from_fn(|x| x.mul("two".parse::<f64>().map_err(Error::other)?))?;
/// let error = reads.forward(&x).unwrap_err();
/// assert!(error.source().unwrap().is::<std::num::ParseFloatError>());
/// # Ok(())
/// # }
/// ```
pub struct Error(Box<Inner>);

struct Inner {
    status: Status,
    message: String,
    cause: Cause,
}

/// What is behind an error's text.
enum Cause {
    Nothing,
    Error(Box<dyn StdError + Send + Sync>),
    Panic(Mutex<Option<Box<dyn Any + Send>>>),
    Record(Record),
}

/// A record taken off the thread, and the error in it that a callback of ours failed with.
struct Record {
    raw: NonNull<sys::flam_error>,
    payload: *const Inner,
}

// SAFETY: a record that was taken belongs to no thread and does not change; its payload is Send.
unsafe impl Send for Record {}
// SAFETY: a record is only read until it is dropped; its payload is Sync.
unsafe impl Sync for Record {}

impl Record {
    fn payload(&self) -> Option<&Inner> {
        // SAFETY: NULL or one of `LENT`, which the record keeps until `self.raw` is released.
        unsafe { self.payload.as_ref() }
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        // SAFETY: flam_error_take gave us the record, and nobody uses it after its owner's drop.
        unsafe { sys::flam_error_release(self.raw.as_ptr()) };
    }
}

/// Addresses of the payloads that C holds: a record's payload may be another language's.
static LENT: Mutex<Vec<usize>> = Mutex::new(Vec::new());

fn lent() -> std::sync::MutexGuard<'static, Vec<usize>> {
    LENT.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

unsafe extern "C" fn drop_payload(payload: *mut c_void) {
    lent().retain(|&address| address != payload as usize);
    // SAFETY: `restore` boxed it, and the record that had it is gone.
    unsafe { drop_user::<Inner>(payload) };
}

impl Error {
    fn with(status: Status, message: String, cause: Cause) -> Self {
        Self(Box::new(Inner { status, message, cause }))
    }

    /// An error of the program's own, such as a dataset's.
    pub fn new(status: Status, message: impl Into<String>) -> Self {
        Self::with(status, message.into(), Cause::Nothing)
    }

    /// Wraps any error, for a callback to fail with; [`StdError::source`] gives it back, also
    /// behind the engine.
    pub fn other(error: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        let error = error.into();
        Self::with(Status::Callback, error.to_string(), Cause::Error(error))
    }

    pub(crate) fn panicked(panic: Box<dyn Any + Send>) -> Self {
        let what = panic.downcast_ref::<&str>().map(|s| s.to_string());
        let what = what.or_else(|| panic.downcast_ref::<String>().cloned());
        let message =
            format!("a Rust callback panicked: {}", what.as_deref().unwrap_or("(no text)"));
        Self::with(Status::Callback, message, Cause::Panic(Mutex::new(Some(panic))))
    }

    /// Takes the error that a failed call left on this thread.
    pub(crate) fn take() -> Self {
        // SAFETY: these take nothing; a record that is taken is the caller's.
        let (payload, raw) = unsafe { (sys::flam_error_payload(), sys::flam_error_take()) };
        let raw = match NonNull::new(raw) {
            Some(raw) => raw,
            None => return Self::new(Status::Internal, "a call failed and left no error"),
        };
        let ours = lent().contains(&(payload as usize));
        let record = Record { raw, payload: if ours { payload.cast() } else { null() } };
        // SAFETY: `record` releases the error after these; the text is copied.
        let (code, message) = unsafe {
            let text = sys::flam_error_message_of(raw.as_ptr(), sys::FLAM_LANGUAGE_RUST);
            (sys::flam_error_code_of(raw.as_ptr()), owned_text(text))
        };
        let status = record.payload().map_or(Status::from_code(code), |error| error.status);
        Self::with(status, message, Cause::Record(record))
    }

    /// Puts the error back as this thread's record: how a callback fails.
    pub(crate) fn restore(self) {
        let error = match *self.0 {
            Inner { cause: Cause::Record(record), .. } => {
                let raw = ManuallyDrop::new(record).raw;
                // SAFETY: the record is ours, and is not released here any more.
                return unsafe { sys::flam_error_restore(raw.as_ptr()) };
            }
            error => error,
        };
        let message = c_text(&error.message.replace('\0', " ")).expect("no zero bytes");
        let payload = into_user(error);
        lent().push(payload as usize);
        // SAFETY: the text is copied, and `drop_payload` gets what `into_user` made, once.
        unsafe { sys::flam_error_set(message.as_ptr(), payload, Some(drop_payload)) };
    }

    fn cause(&self) -> &Cause {
        match &self.0.cause {
            Cause::Record(record) => record.payload().map_or(&Cause::Nothing, |error| &error.cause),
            own => own,
        }
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
        match self.cause() {
            Cause::Panic(panic) => panic.lock().ok()?.take(),
            _ => None,
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
        match self.cause() {
            Cause::Error(error) => Some(error.as_ref()),
            _ => None,
        }
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self::other(error)
    }
}
