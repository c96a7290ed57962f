//! Handles: one count of a shared object, given back on drop.
//!
//! Invariant: the pointer is live. Counting is atomic, and every call is made under the lock of
//! `access`, hence `Send` and `Sync`.

use std::ptr::NonNull;

/// What every handle type has, for the conversions in `call`.
pub trait Handle: Sized {
    type Raw;

    /// Takes a count over.
    ///
    /// # Safety
    ///
    /// `raw` is live, and one count of it is nobody else's to release.
    unsafe fn owned(raw: NonNull<Self::Raw>) -> Self;
}

macro_rules! handle {
    ($(#[$doc:meta])* $name:ident, $c:ident, $release:ident $(, $retain:ident)?) => {
        $(#[$doc])*
        #[repr(transparent)]
        pub struct $name(std::ptr::NonNull<crate::sys::$c>);

        // SAFETY: the engine ties no object to a thread, and counts atomically: any thread may use
        // and release this count.
        unsafe impl Send for $name {}
        // SAFETY: calls through `&self` on several threads are reads that the engine lets run at
        // once; one that writes holds the lock of `access` alone.
        unsafe impl Sync for $name {}

        impl crate::handle::Handle for $name {
            type Raw = crate::sys::$c;

            unsafe fn owned(raw: std::ptr::NonNull<Self::Raw>) -> Self {
                Self(raw)
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                // SAFETY: this handle's own count keeps the object until here, and `into_ptr`,
                // which gives it away, keeps `drop` from running.
                unsafe { crate::sys::$release(self.0.as_ptr()) };
                crate::scope::settle(); // the object's end may run the program's code
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
                    // SAFETY: `self` has a count, so the object lives; the one that this adds is
                    // released by the clone's drop.
                    unsafe { crate::sys::$retain(self.0.as_ptr()) };
                    Self(self.0)
                }
            }
        )?
    };
}
pub(crate) use handle;
