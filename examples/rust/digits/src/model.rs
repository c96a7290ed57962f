//! The two classifiers: images of 8 by 8 pixels in, 10 logits out.

use flambeau::{
    nn::{sequential, ConvolutionOptions, Layer, LinearOptions},
    Device, Result,
};

fn linear(inputs: i64, outputs: i64, device: Device) -> Result<Layer> {
    let options = LinearOptions::default().device(device);
    Layer::linear_with(inputs, outputs, options)
}

/// 64 pixels, 256 hidden units, 10 classes.
pub fn mlp(device: Device) -> Result<Layer> {
    sequential([
        Layer::flatten()?,
        linear(64, 256, device)?,
        Layer::relu()?,
        linear(256, 10, device)?,
    ])
}

fn convolution(inputs: i64, outputs: i64, device: Device) -> Result<[Layer; 3]> {
    let options = ConvolutionOptions::default().padding([1]).device(device);
    Ok([
        Layer::convolution_with(inputs, outputs, &[3, 3], options)?,
        Layer::relu()?,
        Layer::max_pool2d(&[2])?,
    ])
}

/// Two convolutions of 3 by 3, each followed by pooling: 8 by 8 pixels become 2 by 2 of 32
/// channels.
pub fn conv(device: Device) -> Result<Layer> {
    let first = convolution(1, 16, device)?;
    let second = convolution(16, 32, device)?;
    let head = [Layer::flatten()?, linear(128, 10, device)?];
    sequential(first.into_iter().chain(second).chain(head))
}
