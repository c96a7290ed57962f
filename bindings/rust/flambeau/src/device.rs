//! Devices as values.

use std::{fmt, str::FromStr};

use crate::{DeviceType, Error, Result, Tensor};

/// Where a tensor's memory is: "cpu", "cuda:0", "sim:1". A plain value; the device need not exist.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Device(pub(crate) i32);

impl Device {
    /// The host.
    pub fn cpu() -> Self {
        Self::make(DeviceType::Cpu)
    }

    /// A GPU by its number.
    pub fn cuda(index: i32) -> Self {
        Self::make_with(DeviceType::Cuda, index)
    }

    /// A simulated GPU by its number.
    pub fn sim(index: i32) -> Self {
        Self::make_with(DeviceType::Sim, index)
    }
}

/// Whether there is a GPU that can be used; [`crate::cuda_unavailable_reason`] says why not.
pub fn cuda_is_available() -> bool {
    Device::is_available(DeviceType::Cuda)
}

impl FromStr for Device {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::parse(text)
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

impl Tensor {
    /// The tensor on another device; itself where it is there already.
    ///
    /// # Errors
    ///
    /// Those of [`Tensor::to_with`].
    pub fn to_device(&self, device: Device) -> Result<Tensor> {
        self.to_with(crate::options::ToOptions::default().device(device))
    }

    /// The tensor with another element type; itself where it has it already.
    ///
    /// # Errors
    ///
    /// Those of [`Tensor::to_with`].
    pub fn to_dtype(&self, dtype: crate::Dtype) -> Result<Tensor> {
        self.to_with(crate::options::ToOptions::default().dtype(dtype))
    }
}
