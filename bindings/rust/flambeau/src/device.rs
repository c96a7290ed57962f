//! Devices as values.

use std::{fmt, str::FromStr};

use crate::{
    nn::ModuleToOptions, options::ToOptions, DeviceType, Dtype, Error, Layer, Result, Tensor,
};

/// Where a tensor's memory is: "cpu", "cuda:0", "sim:1". A plain value; the device need not exist.
///
/// ```
/// use flambeau::{cuda_is_available, nn::Layer, randn, Device};
///
/// # fn main() -> flambeau::Result<()> {
/// let device = if cuda_is_available() { Device::cuda(0) } else { "cpu".parse()? };
/// let mut model = Layer::linear(4, 2)?;
/// model.to_device(device)?;
/// let y = model.forward(&randn(&[8, 4])?.to_device(device)?)?;
/// assert_eq!(y.device(), device);
/// # Ok(())
/// # }
/// ```
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

    /// The device of tensors that have a shape and no elements.
    pub fn meta() -> Self {
        Self::make(DeviceType::Meta)
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
        self.to_with(ToOptions::default().device(device))
    }

    /// The tensor with another element type; itself where it has it already.
    ///
    /// # Errors
    ///
    /// Those of [`Tensor::to_with`].
    pub fn to_dtype(&self, dtype: Dtype) -> Result<Tensor> {
        self.to_with(ToOptions::default().dtype(dtype))
    }
}

impl Layer {
    /// Moves the parameters and buffers of the whole tree to another device, in place: handles to
    /// them see it, an optimizer's too.
    ///
    /// # Errors
    ///
    /// Those of [`Layer::to_with`].
    pub fn to_device(&mut self, device: Device) -> Result<()> {
        self.to_with(ModuleToOptions::default().device(device))
    }

    /// Casts the parameters and buffers of floating-point dtype, in place.
    ///
    /// # Errors
    ///
    /// Those of [`Layer::to_with`].
    pub fn to_dtype(&mut self, dtype: Dtype) -> Result<()> {
        self.to_with(ModuleToOptions::default().dtype(dtype))
    }
}
