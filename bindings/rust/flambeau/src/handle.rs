//! Handles: one count of a shared object, given back on drop.
//!
//! Invariant: the pointer is live. Counting is atomic, and every call is made under the lock of
//! `access`, hence `Send` and `Sync`.

use std::ptr::NonNull;

/// What every handle type has, for the conversions in `call`.
pub trait Handle: Sized {
    type Raw;

    /// Takes a count over.
    fn owned(raw: NonNull<Self::Raw>) -> Self;
}

macro_rules! handle {
    ($(#[$doc:meta])* $name:ident, $c:ident, $release:ident $(, $retain:ident)?) => {
        $(#[$doc])*
        #[repr(transparent)]
        pub struct $name(std::ptr::NonNull<crate::sys::$c>);

        // SAFETY: counts are atomic, handles belong to no thread, and calls that write are alone
        // (see `access`).
        unsafe impl Send for $name {}
        // SAFETY: as above.
        unsafe impl Sync for $name {}

        impl crate::handle::Handle for $name {
            type Raw = crate::sys::$c;

            fn owned(raw: std::ptr::NonNull<Self::Raw>) -> Self {
                Self(raw)
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                // SAFETY: one count is this handle's.
                unsafe { crate::sys::$release(self.0.as_ptr()) };
            }
        }

        impl $name {
            #[allow(dead_code)]
            pub(crate) fn raw(&self) -> *mut crate::sys::$c {
                self.0.as_ptr()
            }

            /// The C handle, borrowed.
            pub fn as_ptr(&self) -> *mut crate::sys::$c {
                self.0.as_ptr()
            }

            /// Takes over one count of a C handle.
            ///
            /// # Safety
            ///
            /// `raw` is live, and the caller gives its count away.
            pub unsafe fn from_ptr(raw: std::ptr::NonNull<crate::sys::$c>) -> Self {
                Self(raw)
            }

            /// Gives the count to the caller, who releases it.
            pub fn into_ptr(self) -> *mut crate::sys::$c {
                std::mem::ManuallyDrop::new(self).0.as_ptr()
            }
        }

        $(
            /// Another handle to the same object.
            impl Clone for $name {
                fn clone(&self) -> Self {
                    // SAFETY: live; the new count is the clone's.
                    unsafe { crate::sys::$retain(self.0.as_ptr()) };
                    Self(self.0)
                }
            }
        )?
    };
}
pub(crate) use handle;
