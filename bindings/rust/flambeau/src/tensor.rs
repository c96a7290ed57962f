//! What a tensor has beyond the generated methods: its shape as a slice, its text, its parts as
//! iterators.

use std::{fmt, slice};

use crate::{
    access::reading,
    call::{check, null, owned_text},
    sys, FormatOptions, Result, Tensor,
};

impl Tensor {
    /// The sizes of the dimensions.
    pub fn shape(&self) -> Vec<i64> {
        let _access = reading();
        // SAFETY: the engine keeps `dim` sizes until somebody writes, which the lock forbids.
        unsafe { self.copied(sys::flam_tensor_sizes(self.raw())) }
    }

    /// Distances between neighbours along each dimension, in elements.
    pub fn strides(&self) -> Vec<i64> {
        let _access = reading();
        // SAFETY: the engine keeps `dim` strides until somebody writes, which the lock forbids.
        unsafe { self.copied(sys::flam_tensor_strides(self.raw())) }
    }

    /// # Safety
    ///
    /// There are `dim` numbers, which nobody changes meanwhile.
    unsafe fn copied(&self, numbers: *const i64) -> Vec<i64> {
        match self.dim() {
            0 => Vec::new(),
            // SAFETY: the caller's; a tensor with dimensions has an address for them.
            n => unsafe { slice::from_raw_parts(numbers, n as usize) }.to_vec(),
        }
    }

    /// The tensor as text, with more or fewer digits and elements than `Display` shows.
    ///
    /// # Errors
    ///
    /// Those of copying the elements to the host.
    pub fn format(&self, options: FormatOptions) -> Result<String> {
        let (options, mut text) = (options.to_c(), null());
        let _access = reading();
        // SAFETY: `self` keeps the tensor, `text` is a place to write to; what the engine lends
        // there until this thread's next call is copied at once.
        unsafe {
            check(sys::flam_tensor_format(self.raw(), &mut text, &options))
                .map(|()| owned_text(text))
        }
    }

    /// Whether two handles are the same tensor.
    pub fn is(&self, other: &Tensor) -> bool {
        self.raw() == other.raw()
    }
}

/// As PyTorch prints it.
impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.format(FormatOptions::default()) {
            Ok(text) => f.write_str(&text),
            Err(error) => write!(f, "tensor(<{}>)", error),
        }
    }
}
