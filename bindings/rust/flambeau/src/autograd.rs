//! The backward pass, where lists may have missing entries.

use crate::{
    call::{check, entries, optional_pointers, pointers, Borrow},
    sys, Error, Result, Status, Tensor,
};

/// What [`backward_with`] may be told.
#[derive(Debug, Default)]
pub struct BackwardOptions<'a> {
    /// Gradients of the tensors; none stands for 1 and needs one element. Default: all none.
    pub grad_tensors: Option<&'a [Option<&'a Tensor>]>,
    /// Whether saved values stay for another pass.
    pub retain_graph: bool,
    /// Whether the gradients can be differentiated themselves.
    pub create_graph: bool,
    /// The only leaves to accumulate into. Default: all.
    pub inputs: Option<&'a [&'a Tensor]>,
}

/// Computes gradients of `tensors` and adds them to the leaves' gradients.
///
/// # Errors
///
/// [`Status::AUTOGRAD`] where nothing requires grad, the graph was freed or a saved value was
/// overwritten; [`Status::SHAPE`] for a gradient of another shape; what a callback failed with.
pub fn backward(tensors: &[impl Borrow<Tensor>]) -> Result<()> {
    backward_with(tensors, BackwardOptions::default())
}

/// [`backward`] with everything that it may be told.
///
/// # Errors
///
/// Those of [`backward`].
pub fn backward_with(tensors: &[impl Borrow<Tensor>], options: BackwardOptions<'_>) -> Result<()> {
    crate::open_library()?;
    let tensors = pointers(tensors);
    let grads = options.grad_tensors.map(optional_pointers).unwrap_or_default();
    let inputs = options.inputs.map(pointers);
    let (retain, create) = (options.retain_graph.into(), options.create_graph.into());
    let (inputs, n_inputs) =
        inputs.as_ref().map_or((std::ptr::null(), 0), |list| (list.as_ptr(), list.len()));
    let given = if options.grad_tensors.is_some() { grads.as_ptr() } else { std::ptr::null() };
    // SAFETY: handles are live, and lists have the lengths given.
    unsafe {
        check(sys::flam_backward(
            tensors.as_ptr(),
            tensors.len(),
            given,
            grads.len(),
            retain,
            create,
            inputs,
            n_inputs,
        ))
    }
}

/// What [`grad_with`] may be told.
#[derive(Debug, Default)]
pub struct GradOptions<'a> {
    /// Gradients of the outputs; none stands for 1 and needs one element. Default: all none.
    pub grad_outputs: Option<&'a [Option<&'a Tensor>]>,
    /// Whether saved values stay for another pass.
    pub retain_graph: bool,
    /// Whether the gradients can be differentiated themselves.
    pub create_graph: bool,
    /// Whether an input that the outputs do not depend on gives `None` instead of an error.
    pub allow_unused: bool,
}

/// Computes gradients of `outputs` with respect to `inputs`, and accumulates nothing.
///
/// # Errors
///
/// As [`backward`]; [`Status::AUTOGRAD`] for an input that the outputs do not depend on.
pub fn grad(
    outputs: &[impl Borrow<Tensor>],
    inputs: &[impl Borrow<Tensor>],
) -> Result<Vec<Tensor>> {
    let missing = || Error::new(Status::INTERNAL, "grad: a gradient is missing");
    grad_with(outputs, inputs, GradOptions::default())?
        .into_iter()
        .map(|g| g.ok_or_else(missing))
        .collect()
}

/// [`grad`] with everything that it may be told; unused inputs give `None` where that is allowed.
///
/// # Errors
///
/// Those of [`grad`].
pub fn grad_with(
    outputs: &[impl Borrow<Tensor>],
    inputs: &[impl Borrow<Tensor>],
    options: GradOptions<'_>,
) -> Result<Vec<Option<Tensor>>> {
    crate::open_library()?;
    let (outputs, inputs) = (pointers(outputs), pointers(inputs));
    let grads = options.grad_outputs.map(optional_pointers).unwrap_or_default();
    let given = if options.grad_outputs.is_some() { grads.as_ptr() } else { std::ptr::null() };
    // SAFETY: handles are live, and lists have the lengths given.
    unsafe {
        entries(sys::flam_grad(
            outputs.as_ptr(),
            outputs.len(),
            inputs.as_ptr(),
            inputs.len(),
            given,
            grads.len(),
            options.retain_graph.into(),
            options.create_graph.into(),
            options.allow_unused.into(),
        ))
    }
}

impl Tensor {
    /// Computes the gradients of a tensor of one element, and adds them to the leaves' gradients.
    ///
    /// # Errors
    ///
    /// Those of [`backward`].
    pub fn backward(&self) -> Result<()> {
        backward(&[self])
    }
}
