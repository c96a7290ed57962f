//! The C interface of flambeau as Rust declarations; programs use the crate `flambeau`.
//!
//! `ffi.rs` and `gen/` are generated from the headers by `bindings/generate`. With the feature
//! `load` (the default) the functions go through a table that the first call fills by `dlopen`;
//! with `link` alone they are the library's symbols. Enumerations are integers: a newer library may
//! know more of them.
#![allow(non_camel_case_types, non_snake_case, non_upper_case_globals)]
#![allow(clippy::missing_safety_doc, clippy::too_many_arguments)]

/// A test that every struct has the size, and every field the offset, that a C compiler gives it.
#[cfg(test)]
macro_rules! layouts {
    ($($name:ident: $size:literal, $align:literal; $($field:ident $offset:literal),*;)*) => {
        #[test]
        fn layouts() {
            $(
                assert_eq!(std::mem::size_of::<$name>(), $size, stringify!($name));
                assert_eq!(std::mem::align_of::<$name>(), $align, stringify!($name));
                let place = std::mem::MaybeUninit::<$name>::uninit();
                let start = place.as_ptr();
                $(
                    // SAFETY: only the address is taken; nothing uninitialised is read.
                    let field = unsafe { std::ptr::addr_of!((*start).$field) };
                    let found = field as usize - start as usize;
                    assert_eq!(found, $offset, "{}::{}", stringify!($name), stringify!($field));
                )*
            )*
        }
    };
}

#[rustfmt::skip]
mod ffi;
// Defaults are written as the header has them.
#[allow(clippy::approx_constant)]
#[rustfmt::skip]
#[path = "gen/constants.rs"]
mod constants;
#[cfg(all(test, target_pointer_width = "64"))]
#[rustfmt::skip]
#[path = "gen/layouts.rs"]
mod layouts;
mod refused;

pub use constants::*;
pub use ffi::*;
pub use refused::Refused;

/// What this crate was generated from: the least library that it accepts.
pub const VERSION: (u32, u32, u32) = (FLAM_VERSION_MAJOR, FLAM_VERSION_MINOR, FLAM_VERSION_PATCH);

#[cfg(any(feature = "load", not(feature = "link")))]
mod load;
#[cfg(any(feature = "load", not(feature = "link")))]
pub use load::{load, *};

#[cfg(all(feature = "link", not(feature = "load")))]
mod linked;
#[cfg(all(feature = "link", not(feature = "load")))]
pub use {linked::load, linked::symbols::*};
