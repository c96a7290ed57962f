//! The backward pass, where lists may have missing entries.

use crate::{
    access::writing,
    call::{check, entries, listed, optional_pointers, pointers, Borrow},
    sys, Error, Result, Status, Tensor,
};

/// Options of [`backward_with`].
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default)]
pub struct BackwardOptions<'a> {
    /// Gradients of the tensors; none stands for 1 and needs one element. Default: all none.
    pub grad_tensors: Option<&'a [Option<&'a Tensor>]>,
    /// Whether saved values stay for another pass; default false.
    pub retain_graph: bool,
    /// Whether the gradients can be differentiated themselves; default false.
    pub create_graph: bool,
    /// The only leaves to accumulate into. Default: all.
    pub inputs: Option<&'a [&'a Tensor]>,
}

impl<'a> BackwardOptions<'a> {
    /// Gradients of the tensors; none stands for 1 and needs one element. Default: all none.
    #[must_use]
    pub fn grad_tensors(mut self, grads: &'a [Option<&'a Tensor>]) -> Self {
        self.grad_tensors = Some(grads);
        self
    }

    /// Whether saved values stay for another pass; default false.
    #[must_use]
    pub fn retain_graph(mut self, retain_graph: bool) -> Self {
        self.retain_graph = retain_graph;
        self
    }

    /// Whether the gradients can be differentiated themselves; default false.
    #[must_use]
    pub fn create_graph(mut self, create_graph: bool) -> Self {
        self.create_graph = create_graph;
        self
    }

    /// The only leaves to accumulate into. Default: all.
    #[must_use]
    pub fn inputs(mut self, inputs: &'a [&'a Tensor]) -> Self {
        self.inputs = Some(inputs);
        self
    }
}

/// Computes gradients of `tensors` and adds them to the leaves' gradients.
///
/// # Errors
///
/// [`Status::Autograd`] where nothing requires grad, the graph was freed or a saved value was
/// overwritten; [`Status::Shape`] for a gradient of another shape; what a callback failed with.
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
    if options.inputs.map_or(false, <[_]>::is_empty) {
        let text = "backward: inputs has no entries; leave it out for all leaves";
        return Err(Error::new(Status::InvalidArgument, text));
    }
    let tensors = pointers(tensors);
    let grads = options.grad_tensors.map(optional_pointers).unwrap_or_default();
    let inputs = options.inputs.map(pointers).unwrap_or_default();
    let _access = writing();
    let options = sys::flam_autograd_backward_options {
        grad_tensors: listed(&grads),
        n_grad_tensors: grads.len(),
        retain_graph: options.retain_graph.into(),
        create_graph: options.create_graph.into(),
        inputs: listed(&inputs),
        n_inputs: inputs.len(),
        ..Default::default()
    };
    // SAFETY: `tensors`, `grads` and `inputs` are lists with lengths of their own, of handles that
    // the arguments keep; NULL goes with the length 0 only where C takes a missing list.
    unsafe { check(sys::flam_autograd_backward(tensors.as_ptr(), tensors.len(), &options)) }
}

/// Options of [`grad_with`].
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default)]
pub struct GradOptions<'a> {
    /// Gradients of the outputs; none stands for 1 and needs one element. Default: all none.
    pub grad_outputs: Option<&'a [Option<&'a Tensor>]>,
    /// Whether saved values stay for another pass; default: what `create_graph` is.
    pub retain_graph: bool,
    /// Whether the gradients can be differentiated themselves; default false.
    pub create_graph: bool,
    /// Whether an input that the outputs do not depend on gives `None` instead of an error; default
    /// false.
    pub allow_unused: bool,
}

impl<'a> GradOptions<'a> {
    /// Gradients of the outputs; none stands for 1 and needs one element. Default: all none.
    #[must_use]
    pub fn grad_outputs(mut self, grads: &'a [Option<&'a Tensor>]) -> Self {
        self.grad_outputs = Some(grads);
        self
    }

    /// Whether saved values stay for another pass; default: what `create_graph` is.
    #[must_use]
    pub fn retain_graph(mut self, retain_graph: bool) -> Self {
        self.retain_graph = retain_graph;
        self
    }

    /// Whether the gradients can be differentiated themselves; default false.
    #[must_use]
    pub fn create_graph(mut self, create_graph: bool) -> Self {
        self.create_graph = create_graph;
        self
    }

    /// Whether an input that the outputs do not depend on gives `None` instead of an error; default
    /// false.
    #[must_use]
    pub fn allow_unused(mut self, allow_unused: bool) -> Self {
        self.allow_unused = allow_unused;
        self
    }
}

/// Computes gradients of `outputs` with respect to `inputs`, and accumulates nothing.
///
/// # Errors
///
/// As [`backward`]; [`Status::Autograd`] for an input that the outputs do not depend on.
pub fn grad(
    outputs: &[impl Borrow<Tensor>],
    inputs: &[impl Borrow<Tensor>],
) -> Result<Vec<Tensor>> {
    let missing = || Error::new(Status::Internal, "grad: a gradient is missing");
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
    // It frees what the graph saved.
    let _access = writing();
    let options = sys::flam_grad_options {
        grad_outputs: listed(&grads),
        n_grad_outputs: grads.len(),
        retain_graph: options.retain_graph.into(),
        create_graph: options.create_graph.into(),
        allow_unused: options.allow_unused.into(),
        ..Default::default()
    };
    // SAFETY: `outputs`, `inputs` and `grads` are lists with lengths of their own, of handles that
    // the arguments keep; the result is a list of the caller's.
    unsafe {
        entries(sys::flam_grad(
            outputs.as_ptr(),
            outputs.len(),
            inputs.as_ptr(),
            inputs.len(),
            &options,
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
        let _access = writing();
        // SAFETY: `self` keeps the tensor, and the tensor its graph; other threads are kept out.
        unsafe { check(sys::flam_backward(self.raw())) }
    }
}
