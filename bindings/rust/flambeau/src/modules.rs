//! The library's layers and the program's own, in one tree of named parameters.

use std::{mem::size_of, os::raw::c_void, sync::Arc};

pub use crate::gen::Layer;
use crate::{
    access::{reading, writing, Access},
    call::{c_text, made, optional_pointers, pointers, Borrow},
    callback::{borrowed_list, drop_user, guarded, into_user, user_of},
    sys, Error, Result, Status, Tensor,
};

/// What the program's own module provides.
pub trait Module: Send + Sync + 'static {
    /// The class name that prints and errors show; the type's name unless told.
    fn name(&self) -> String {
        short_name::<Self>()
    }

    /// Computes the output.
    ///
    /// # Errors
    ///
    /// Any; the caller gets it, with the module's path among the facts.
    fn forward(&self, input: &Tensor) -> Result<Tensor>;

    /// Computes the output from several inputs; those that take one need not be told.
    ///
    /// # Errors
    ///
    /// As `forward`.
    fn forward_all(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        match inputs {
            [input] => self.forward(input),
            _ => Err(Error::new(
                Status::InvalidArgument,
                format!("{} takes 1 input, not {}", self.name(), inputs.len()),
            )),
        }
    }

    /// Names the parameters, buffers and children. They join the tree, and move with it in place.
    ///
    /// # Errors
    ///
    /// Those of [`Parts`].
    fn parts(&self, parts: &mut Parts<'_>) -> Result<()>;
}

/// One layer after the other, named "0", "1" and so on.
///
/// # Errors
///
/// Out of memory.
pub fn sequential(layers: impl IntoIterator<Item = Layer>) -> Result<Layer> {
    let mut all = Layer::sequential()?;
    for layer in layers {
        all.append(&layer)?;
    }
    Ok(all)
}

/// The last part of a type's name: `Net` of `digits::Net`.
pub(crate) fn short_name<T: ?Sized>() -> String {
    let name = std::any::type_name::<T>();
    let name = name.split('<').next().unwrap_or(name);
    name.rsplit("::").next().unwrap_or(name).to_owned()
}

/// Where a module names its parts.
#[derive(Debug)]
pub struct Parts<'a>(&'a mut Layer);

impl Parts<'_> {
    /// Makes a tensor of floating-point dtype a parameter, which requires grad from then on.
    ///
    /// # Errors
    ///
    /// [`Status::InvalidArgument`] for a bad or taken name, [`Status::Dtype`].
    pub fn parameter(&mut self, name: &str, tensor: &Tensor) -> Result<()> {
        tensor.clone().set_requires_grad(true)?;
        self.0.set_parameter_with(name, Some(tensor))
    }

    /// A tensor that is saved and moved with the module and not trained.
    ///
    /// # Errors
    ///
    /// [`Status::InvalidArgument`] for a bad or taken name.
    pub fn buffer(&mut self, name: &str, tensor: &Tensor) -> Result<()> {
        self.0.set_buffer_with(name, Some(tensor), true)
    }

    /// Another module.
    ///
    /// # Errors
    ///
    /// [`Status::InvalidArgument`] for a bad or taken name.
    pub fn child(&mut self, name: &str, layer: &Layer) -> Result<()> {
        self.0.set_child_with(name, Some(layer))
    }
}

unsafe extern "C" fn run_forward<M: Module>(
    user: *mut c_void,
    inputs: *const *mut sys::flam_tensor,
    n: usize,
    out: *mut *mut sys::flam_tensor,
) -> sys::flam_status {
    guarded(|| {
        // SAFETY: `user` is what `Layer::new` boxed, and C lends `n` inputs for the call.
        let (module, inputs) = unsafe { (user_of::<Arc<M>>(user), borrowed_list(inputs, n)) };
        let inputs: Option<Vec<&Tensor>> = inputs.iter().map(|t| t.as_ref()).collect();
        let inputs =
            inputs.ok_or_else(|| Error::new(Status::InvalidArgument, "an input is missing"))?;
        let output = module.forward_all(&inputs)?;
        // SAFETY: C's place for one result, which it takes over.
        unsafe { *out = output.into_ptr() };
        Ok(())
    })
}

impl Layer {
    /// Evaluation mode for the layer and those in it: [`Layer::train`] is its opposite.
    ///
    /// # Errors
    ///
    /// Those of [`Layer::train_with`].
    pub fn eval(&mut self) -> Result<()> {
        self.train_with(false)
    }

    /// The program's own module as a node of the tree.
    ///
    /// # Errors
    ///
    /// What its [`Module::parts`] fails with.
    pub fn new<M: Module>(module: M) -> Result<Layer> {
        crate::open_library()?;
        let name = c_text(&module.name())?;
        let module = Arc::new(module);
        let vtable = sys::flam_module_vtable {
            struct_size: size_of::<sys::flam_module_vtable>(),
            user: into_user(module.clone()),
            forward: Some(run_forward::<M>),
            drop: Some(drop_user::<Arc<M>>),
        };
        // SAFETY: the function is that of `M`, which `user` counts; the name and the table are
        // copied, and the library drops `user` once, also where this fails.
        let mut layer: Layer = unsafe { made(sys::flam_module_new(name.as_ptr(), &vtable))? };
        module.parts(&mut Parts(&mut layer))?;
        Ok(layer)
    }

    /// A module made of a closure, without parameters.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub fn from_fn(f: impl Fn(&Tensor) -> Result<Tensor> + Send + Sync + 'static) -> Result<Layer> {
        Layer::new(Closure(f))
    }

    /// The module on one input, hooks included.
    ///
    /// # Errors
    ///
    /// Those of its operations; the module's path is among the facts.
    pub fn forward(&self, input: &Tensor) -> Result<Tensor> {
        let _access = self.forward_access();
        // SAFETY: `self` and `input` keep the module and the tensor, which nobody writes to
        // meanwhile.
        unsafe { made(sys::flam_module_call(self.raw(), input.raw())) }
    }

    /// The module on several inputs, hooks included.
    ///
    /// # Errors
    ///
    /// Those of its operations.
    pub fn forward_all(&self, inputs: &[impl Borrow<Tensor>]) -> Result<Tensor> {
        let raw = pointers(inputs);
        let _access = self.forward_access();
        // SAFETY: `self` keeps the module and `inputs` the tensors of `raw`, which has its own
        // length.
        unsafe { made(sys::flam_module_forward(self.raw(), raw.as_ptr(), raw.len())) }
    }

    /// As [`Layer::forward_all`], with `None` for optional inputs, as masks, that are not given.
    ///
    /// # Errors
    ///
    /// Those of its operations; invalid argument for `None` where a layer needs an input.
    pub fn forward_given(&self, inputs: &[Option<&Tensor>]) -> Result<Tensor> {
        let raw = optional_pointers(inputs);
        let _access = self.forward_access();
        // SAFETY: as in `forward_all`; the engine checks which entries may be NULL.
        unsafe { made(sys::flam_module_forward(self.raw(), raw.as_ptr(), raw.len())) }
    }

    /// A call writes to running statistics while their modules train; others run at once.
    pub(crate) fn forward_access(&self) -> Access {
        let access = reading();
        if self.updates_buffers() {
            drop(access);
            return writing(); // a mode set in between at worst makes a reader wait
        }
        access
    }

    /// The parameters, those of descendants included, each once: what an optimizer takes.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub fn parameters(&self) -> Result<Vec<Tensor>> {
        self.named_parameters()?.tensors()
    }
}

struct Closure<F>(F);

impl<F: Fn(&Tensor) -> Result<Tensor> + Send + Sync + 'static> Module for Closure<F> {
    fn name(&self) -> String {
        "Closure".to_owned()
    }

    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        (self.0)(input)
    }

    fn parts(&self, _: &mut Parts<'_>) -> Result<()> {
        Ok(())
    }
}
