//! Operands: tensors by reference, and plain numbers, which promote by their category only.

use std::{marker::PhantomData, ptr::NonNull};

use crate::{
    handle::Handle,
    sys::{self, flam_tensor},
    Tensor,
};

/// What an operation takes where PyTorch takes a tensor or a number.
pub trait Operand {
    /// Gets hold of a handle for the length of a call.
    fn hold<'a>(self) -> Held<'a>
    where
        Self: 'a;
}

/// What an operation takes where an operand may be missing: an operand, or an `Option` of one, as
/// in `x.clamp(0.0, None::<f64>)`.
///
/// An operand that may not be missing is no `Option`:
///
/// ```compile_fail,E0277
/// # fn main() -> flambeau::Result<()> {
/// # use flambeau::Tensor;
/// let x = Tensor::from_slice(&[1.0, 2.0], &[2])?;
/// x.add(None::<&Tensor>)?;
/// # Ok(())
/// # }
/// ```
pub trait MaybeOperand {
    /// Gets hold of a handle, or of none, for the length of a call.
    fn hold_if_any<'a>(self) -> Held<'a>
    where
        Self: 'a;
}

/// An operand on its way into a call.
#[derive(Debug)]
pub struct Held<'a> {
    raw: *mut flam_tensor,
    _owned: Option<Tensor>,
    tensor: PhantomData<&'a Tensor>,
}

impl Held<'_> {
    pub(crate) fn raw(&self) -> *mut flam_tensor {
        self.raw
    }

    /// NULL where it could not be made: the call then fails with the error that is pending.
    ///
    /// # Safety
    ///
    /// `raw` is the owned result of a call, or NULL.
    unsafe fn new(raw: *mut flam_tensor) -> Self {
        // SAFETY: the caller's: the result comes with a count, which goes into one handle here.
        let owned = NonNull::new(raw).map(|raw| unsafe { Tensor::owned(raw) });
        Self { raw, _owned: owned, tensor: PhantomData }
    }
}

impl Operand for &Tensor {
    fn hold<'a>(self) -> Held<'a>
    where
        Self: 'a,
    {
        Held { raw: self.raw(), _owned: None, tensor: PhantomData }
    }
}

impl Operand for Tensor {
    fn hold<'a>(self) -> Held<'a>
    where
        Self: 'a,
    {
        Held { raw: self.raw(), _owned: Some(self), tensor: PhantomData }
    }
}

impl<T: Operand> MaybeOperand for T {
    fn hold_if_any<'a>(self) -> Held<'a>
    where
        Self: 'a,
    {
        self.hold()
    }
}

impl<T: Operand> MaybeOperand for Option<T> {
    fn hold_if_any<'a>(self) -> Held<'a>
    where
        Self: 'a,
    {
        let none = Held { raw: std::ptr::null_mut(), _owned: None, tensor: PhantomData };
        self.map_or(none, Operand::hold)
    }
}

macro_rules! numbers {
    ($($type:ty => $make:ident as $c:ty),*) => {
        $(impl Operand for $type {
            fn hold<'a>(self) -> Held<'a> {
                // SAFETY: any number becomes a tensor, whose count is the caller's.
                unsafe { Held::new(sys::$make(<$c>::from(self))) }
            }
        })*
    };
}

numbers! {
    f64 => flam_scalar_f64 as f64, f32 => flam_scalar_f64 as f64, i64 => flam_scalar_i64 as i64,
    i32 => flam_scalar_i64 as i64, u8 => flam_scalar_i64 as i64, bool => flam_scalar_bool as i32
}
