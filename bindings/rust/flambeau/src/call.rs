//! What generated functions are made of: results of C calls as Rust values, Rust values as C
//! arguments.

pub(crate) use std::{
    borrow::Borrow,
    os::raw::c_void,
    ptr::{null, null_mut},
};
use std::{
    ffi::{CStr, CString},
    os::raw::c_char,
    ptr::NonNull,
};

pub(crate) use crate::sys;
use crate::{handle::Handle, sys::flam_tensor, Error, Result, Status, Tensor};

/// A new handle, or the error that the call left.
///
/// # Safety
///
/// `raw` is the owned result of a call on this thread, or NULL.
pub(crate) unsafe fn made<H: Handle>(raw: *mut H::Raw) -> Result<H> {
    // SAFETY: the caller's: the result comes with a count, which goes into one handle here.
    NonNull::new(raw).map(|raw| unsafe { H::owned(raw) }).ok_or_else(Error::take)
}

/// A handle that may be absent without an error.
///
/// # Safety
///
/// As [`made`].
pub(crate) unsafe fn found<H: Handle>(raw: *mut H::Raw) -> Result<Option<H>> {
    // SAFETY: it takes nothing and reads the thread's own record.
    if raw.is_null() && unsafe { sys::flam_error_code() } == sys::FLAM_OK {
        return Ok(None);
    }
    // SAFETY: the caller's, unchanged.
    unsafe { made(raw) }.map(Some)
}

/// Whether an in-place form wrote: it gives its operand's own handle back, or NULL.
pub(crate) fn written(raw: *mut flam_tensor) -> Result<()> {
    NonNull::new(raw).map(drop).ok_or_else(Error::take)
}

pub(crate) fn check(status: sys::flam_status) -> Result<()> {
    if status == sys::FLAM_OK {
        Ok(())
    } else {
        Err(Error::take())
    }
}

/// Releases a list when its tensors are out.
struct List(NonNull<sys::flam_tensor_list>);

impl Drop for List {
    fn drop(&mut self) {
        // SAFETY: `entries` made this of the count that it was given, and keeps no other.
        unsafe { sys::flam_tensor_list_release(self.0.as_ptr()) };
    }
}

/// The tensors of an owned list; entries may be missing.
///
/// # Safety
///
/// As [`made`].
pub(crate) unsafe fn entries(raw: *mut sys::flam_tensor_list) -> Result<Vec<Option<Tensor>>> {
    let list = List(NonNull::new(raw).ok_or_else(Error::take)?);
    let raw = list.0.as_ptr();
    // SAFETY: `list` keeps it until the function returns.
    let n = unsafe { sys::flam_tensor_list_size(raw) };
    // SAFETY: the same, `i` is below its size, and an entry that it gives has a count of its own.
    (0..n).map(|i| unsafe { found(sys::flam_tensor_list_get(raw, i)) }).collect()
}

/// The tensors of an owned list that has them all.
///
/// # Safety
///
/// As [`made`].
pub(crate) unsafe fn list(raw: *mut sys::flam_tensor_list) -> Result<Vec<Tensor>> {
    let missing = || Error::new(Status::Internal, "a list of results has a missing entry");
    // SAFETY: the caller's, unchanged.
    unsafe { entries(raw)? }.into_iter().map(|entry| entry.ok_or_else(missing)).collect()
}

/// A text for C.
pub(crate) fn c_text(text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| {
        Error::new(Status::InvalidArgument, format!("the text {:?} has a zero byte", text))
    })
}

/// Texts for C, and where they lie.
pub(crate) struct Texts {
    pointers: Vec<*const c_char>,
    _texts: Vec<CString>,
}

impl Texts {
    pub(crate) fn as_ptr(&self) -> *const *const c_char {
        self.pointers.as_ptr()
    }

    pub(crate) fn len(&self) -> usize {
        self.pointers.len()
    }
}

pub(crate) fn c_texts(texts: &[&str]) -> Result<Texts> {
    let texts = texts.iter().map(|text| c_text(text)).collect::<Result<Vec<_>>>()?;
    Ok(Texts { pointers: texts.iter().map(|text| text.as_ptr()).collect(), _texts: texts })
}

/// A text that C lends, copied: it may change with the next call.
///
/// # Safety
///
/// NULL, or a text that ends in zero and stays until this returns.
pub(crate) unsafe fn maybe_text(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the caller's; not NULL.
    Some(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

/// # Safety
///
/// As [`maybe_text`].
pub(crate) unsafe fn owned_text(text: *const c_char) -> String {
    // SAFETY: the caller's, unchanged.
    unsafe { maybe_text(text) }.unwrap_or_default()
}

/// Tensors as an array of borrowed handles.
pub(crate) fn pointers<T: Borrow<Tensor>>(tensors: &[T]) -> Vec<*mut flam_tensor> {
    tensors.iter().map(|t| t.borrow().raw()).collect()
}

/// Where a list of options lies: NULL where it has no entries, which C takes for no list.
pub(crate) fn listed<T>(list: &[T]) -> *const T {
    if list.is_empty() {
        null()
    } else {
        list.as_ptr()
    }
}

/// The same, with NULL for what is missing.
pub(crate) fn optional_pointers(tensors: &[Option<&Tensor>]) -> Vec<*mut flam_tensor> {
    tensors.iter().map(|t| t.map_or(null_mut(), |t| t.raw())).collect()
}
