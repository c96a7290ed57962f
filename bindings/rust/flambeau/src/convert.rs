//! Rust's numbers as tensors and back.

use std::{mem::size_of, os::raw::c_void};

use crate::{
    access::reading,
    call::{check, made, null, null_mut},
    callback::{drop_user, into_user},
    sys, Dtype, Error, Result, Status, Tensor,
};

/// An element type that Rust has too.
///
/// # Safety
///
/// `DTYPE` has the size of the type and its representation.
pub unsafe trait Element: Copy + Send + Sync + 'static {
    /// Its name in the engine.
    const DTYPE: Dtype;
}

macro_rules! elements {
    ($($type:ty = $dtype:ident),*) => {
        // SAFETY: each name is the dtype of that width and kind. A `bool` is one byte here and
        // there; in the engine any that is not 0 is true, which `to_vec` makes 1.
        $(unsafe impl Element for $type { const DTYPE: Dtype = Dtype::$dtype; })*
    };
}

elements! { f32 = F32, f64 = F64, i64 = I64, i32 = I32, i16 = I16, i8 = I8, u8 = U8, bool = Bool }

fn check_length(len: usize, size: &[i64]) -> Result<()> {
    let wanted = size.iter().try_fold(1i64, |n, &s| if s < 0 { None } else { n.checked_mul(s) });
    if wanted == i64::try_from(len).ok() {
        return Ok(());
    }
    let text = format!("{} elements do not fill the shape {:?}", len, size);
    Err(Error::new(Status::Shape, text))
}

impl Tensor {
    /// A tensor on the default device with a copy of `data`, in C order.
    ///
    /// # Errors
    ///
    /// [`Status::Shape`] where `size` is not the shape of that many elements.
    pub fn from_slice<T: Element>(data: &[T], size: &[i64]) -> Result<Tensor> {
        crate::open_library()?;
        check_length(data.len(), size)?;
        let dtype = T::DTYPE.code();
        let _access = reading();
        // SAFETY: `check_length` held that `data` has as many elements of `dtype` as `size` says;
        // they are copied before the call returns.
        unsafe {
            made(sys::flam_tensor_from_data(
                data.as_ptr().cast(),
                size.as_ptr(),
                size.len(),
                dtype,
                null(),
            ))
        }
    }

    /// A tensor on the cpu that owns `data`: nothing is copied.
    ///
    /// # Errors
    ///
    /// [`Status::Shape`] where `size` is not the shape of that many elements.
    pub fn from_vec<T: Element>(data: Vec<T>, size: &[i64]) -> Result<Tensor> {
        crate::open_library()?;
        check_length(data.len(), size)?;
        let mut data = data;
        let first = data.as_mut_ptr();
        let user = into_user(data);
        // SAFETY: a Vec's elements stay where they are when it moves; they fill `size`, as
        // `check_length` held, belong to the tensor alone, and live until it calls `drop_user`.
        unsafe {
            made(sys::flam_tensor_from_blob(
                first.cast(),
                size.as_ptr(),
                size.len(),
                T::DTYPE.code(),
                Some(drop_user::<Vec<T>>),
                user,
                null(),
            ))
        }
    }

    /// The elements in C order, from any device.
    ///
    /// # Errors
    ///
    /// [`Status::Dtype`] where the tensor does not hold `T`.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        let _access = reading(); // from the first look to the copy
        self.check_holds::<T>("to_vec")?;
        let n = self.numel() as usize;
        let mut elements = Vec::<T>::with_capacity(n);
        // SAFETY: the buffer has that many bytes, no other thread writes to the tensor meanwhile,
        // and a call that succeeds has filled them all: with elements of `T`, once bytes that
        // stand for bools, which come from anywhere, are 0 or 1.
        unsafe {
            check(sys::flam_tensor_to_host(
                self.raw(),
                elements.as_mut_ptr().cast(),
                n * size_of::<T>(),
            ))?;
            if T::DTYPE == Dtype::Bool {
                let bytes = std::slice::from_raw_parts_mut(elements.as_mut_ptr().cast::<u8>(), n);
                bytes.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
            }
            elements.set_len(n);
        }
        Ok(elements)
    }

    /// The only element.
    ///
    /// # Errors
    ///
    /// [`Status::Shape`] where there is not exactly one, [`Status::Dtype`] where it is no `T`.
    pub fn item<T: Element>(&self) -> Result<T> {
        let _access = reading();
        if self.numel() != 1 {
            self.item_f64()?; // fails, with the engine's own text
        }
        Ok(self.to_vec::<T>()?[0])
    }

    /// The elements where they lie.
    ///
    /// # Safety
    ///
    /// Nothing writes to the memory, through whichever handle, while the slice lives. Where `T` is
    /// bool, every byte is 0 or 1: foreign memory, a view of other bytes as bool, or what `empty`
    /// left unset may hold others. [`Tensor::to_vec`] takes any.
    ///
    /// # Errors
    ///
    /// [`Status::Dtype`]; [`Status::DeviceMismatch`] where the tensor is not on the cpu;
    /// [`Status::InvalidArgument`] where it is not contiguous.
    pub unsafe fn host_slice<T: Element>(&self) -> Result<&[T]> {
        let _access = reading();
        self.check_holds::<T>("host_slice")?;
        if !self.is_contiguous() {
            return Err(Error::new(
                Status::InvalidArgument,
                "host_slice: not contiguous; use contiguous() first",
            ));
        }
        let mut data: *mut c_void = null_mut();
        // SAFETY: `self` keeps the tensor; it is a place to write to.
        check(unsafe { sys::flam_tensor_host_data(self.raw(), &mut data) })?;
        if self.numel() == 0 {
            return Ok(&[]);
        }
        // SAFETY: contiguous elements of `T` in host memory, which `self` keeps; that nothing
        // writes to them, and that bools are 0 or 1, is the caller's.
        Ok(unsafe { std::slice::from_raw_parts(data as *const T, self.numel() as usize) })
    }

    fn check_holds<T: Element>(&self, name: &str) -> Result<()> {
        if self.dtype() == T::DTYPE {
            return Ok(());
        }
        let text = format!(
            "{}: the tensor holds {}, not {}; use to_dtype(Dtype::{:?}) first",
            name,
            self.dtype(),
            T::DTYPE,
            T::DTYPE
        );
        Err(Error::new(Status::Dtype, text))
    }
}

/// One dimension, copied. Panics where there is no memory or no library.
impl<T: Element> From<&[T]> for Tensor {
    fn from(data: &[T]) -> Self {
        Tensor::from_slice(data, &[data.len() as i64]).unwrap_or_else(|error| panic!("{}", error))
    }
}

/// One dimension, copied.
impl<T: Element, const N: usize> From<[T; N]> for Tensor {
    fn from(data: [T; N]) -> Self {
        Tensor::from(&data[..])
    }
}

/// Two dimensions, copied.
impl<T: Element, const N: usize, const M: usize> From<[[T; M]; N]> for Tensor {
    fn from(data: [[T; M]; N]) -> Self {
        let flat: Vec<T> = data.iter().flatten().copied().collect();
        let sizes = [N as i64, M as i64];
        Tensor::from_slice(&flat, &sizes).unwrap_or_else(|error| panic!("{}", error))
    }
}

/// One dimension; nothing is copied.
impl<T: Element> From<Vec<T>> for Tensor {
    fn from(data: Vec<T>) -> Self {
        let n = data.len() as i64;
        Tensor::from_vec(data, &[n]).unwrap_or_else(|error| panic!("{}", error))
    }
}

impl<T: Element> TryFrom<&Tensor> for Vec<T> {
    type Error = Error;

    fn try_from(tensor: &Tensor) -> Result<Self> {
        tensor.to_vec()
    }
}
