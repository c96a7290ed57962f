//! Saved values: closures through which they go, and closures that run again in their place.

use std::{ffi::CString, mem::size_of, os::raw::c_void, sync::Arc};

use crate::{
    access::reading,
    call::{check, made, pointers, Borrow},
    callback::{borrowed, borrowed_list, drop_user, guarded, into_user, user_of},
    nn::Layer,
    sys, Error, Result, Scope, Status, Tensor,
};

struct Hooks<P, U> {
    pack: P,
    unpack: U,
}

unsafe extern "C" fn pack<V, P, U>(
    user: *mut c_void,
    tensor: *const sys::flam_tensor,
    out: *mut *mut c_void,
) -> sys::flam_status
where
    P: Fn(&Tensor) -> Result<V>,
{
    guarded(|| {
        // SAFETY: `user` is what `saved_hooks` boxed, and C lends the tensor for the call.
        let (hooks, tensor) = unsafe { (user_of::<Hooks<P, U>>(user), borrowed(tensor)) };
        if let Some(tensor) = tensor {
            let packed = (hooks.pack)(&tensor)?;
            // SAFETY: C's place for one value, which `drop_packed` takes back.
            unsafe { *out = into_user(packed) };
        }
        Ok(())
    })
}

unsafe extern "C" fn unpack<V, P, U>(
    user: *mut c_void,
    packed: *mut c_void,
    out: *mut *mut sys::flam_tensor,
) -> sys::flam_status
where
    U: Fn(&V) -> Result<Tensor>,
{
    guarded(|| {
        // SAFETY: `user` is what `saved_hooks` boxed, and `packed` what `pack` of the same types
        // did.
        let (hooks, packed) = unsafe { (user_of::<Hooks<P, U>>(user), user_of::<V>(packed)) };
        let tensor = (hooks.unpack)(packed)?;
        // SAFETY: C's place for one result, which it takes over.
        unsafe { *out = tensor.into_ptr() };
        Ok(())
    })
}

unsafe extern "C" fn drop_packed<V>(_user: *mut c_void, packed: *mut c_void) {
    // SAFETY: `packed` is what `pack` boxed, and C calls this once for each.
    unsafe { drop_user::<V>(packed) };
}

impl Scope {
    /// Hands every value that operations save to `pack` until dropped, and keeps what that makes of
    /// it; backward gets the value back from `unpack`, with the same shape, dtype and device.
    ///
    /// # Errors
    ///
    /// [`Status::Autograd`] where [`Scope::without_saved_hooks`] forbids it.
    pub fn saved_hooks<V, P, U>(on_pack: P, on_unpack: U) -> Result<Self>
    where
        V: Send + Sync + 'static,
        P: Fn(&Tensor) -> Result<V> + Send + Sync + 'static,
        U: Fn(&V) -> Result<Tensor> + Send + Sync + 'static,
    {
        crate::open_library()?;
        let hooks = sys::flam_saved_hooks {
            struct_size: size_of::<sys::flam_saved_hooks>(),
            user: into_user(Hooks { pack: on_pack, unpack: on_unpack }),
            pack: Some(pack::<V, P, U>),
            unpack: Some(unpack::<V, P, U>),
            drop_packed: Some(drop_packed::<V>),
            drop: Some(drop_user::<Hooks<P, U>>),
        };
        let mut token = 0;
        // SAFETY: all functions are of one `V`, `P` and `U`; the table is copied, and the library
        // drops `user` once, also where this fails.
        unsafe { check(sys::flam_saved_hooks_push(&hooks, &mut token))? };
        Ok(Self::new(token))
    }

    /// Forbids hooks around saved values until dropped: setting some fails with `message`.
    ///
    /// # Errors
    ///
    /// [`Status::Autograd`] with the message where some are set.
    pub fn without_saved_hooks(message: &str) -> Result<Self> {
        crate::open_library()?;
        let message = CString::new(message.replace('\0', "")).expect("no zero bytes");
        let mut token = 0;
        // SAFETY: a `CString` that outlives the call, which copies it, and a place to write to.
        unsafe { check(sys::flam_saved_hooks_disable_push(message.as_ptr(), &mut token))? };
        Ok(Self::new(token))
    }
}

/// Options of [`checkpoint_with`].
#[non_exhaustive]
#[derive(Debug, Clone, Copy)]
pub struct CheckpointOptions {
    /// Whether the second run draws the random numbers of the first.
    pub preserve_rng_state: bool,
    /// Whether the second run ends once the last value is there.
    pub early_stop: bool,
    /// Whether its values must have the shapes, dtypes and devices of the first's.
    pub check_determinism: bool,
}

impl Default for CheckpointOptions {
    fn default() -> Self {
        Self { preserve_rng_state: true, early_stop: true, check_determinism: true }
    }
}

impl CheckpointOptions {
    /// Whether the second run draws the random numbers of the first; default true.
    #[must_use]
    pub fn preserve_rng_state(mut self, preserve_rng_state: bool) -> Self {
        self.preserve_rng_state = preserve_rng_state;
        self
    }

    /// Whether the second run ends once the last value is there; default true.
    #[must_use]
    pub fn early_stop(mut self, early_stop: bool) -> Self {
        self.early_stop = early_stop;
        self
    }

    /// Whether its values must have the shapes, dtypes and devices of the first's; default true.
    #[must_use]
    pub fn check_determinism(mut self, check_determinism: bool) -> Self {
        self.check_determinism = check_determinism;
        self
    }
}

unsafe extern "C" fn run<F>(
    user: *mut c_void,
    inputs: *const *mut sys::flam_tensor,
    n: usize,
) -> sys::flam_status
where
    F: Fn(&[&Tensor]) -> Result<Tensor>,
{
    guarded(|| {
        // SAFETY: `user` is what `checkpoint_with` boxed, and C lends `n` inputs for the call.
        let (function, inputs) = unsafe { (user_of::<Arc<F>>(user), borrowed_list(inputs, n)) };
        let inputs: Vec<&Tensor> = inputs.iter().flatten().collect();
        if inputs.len() != n {
            return Err(Error::new(Status::Internal, "checkpoint: an input is missing"));
        }
        function(&inputs).map(drop)
    })
}

/// Runs a closure and keeps only its inputs of all that its operations save; backward runs it
/// again.
///
/// ```
/// use flambeau::{autograd::checkpoint, Tensor};
/// # fn main() -> flambeau::Result<()> {
/// let mut x = Tensor::from([0.0f32]);
/// x.set_requires_grad(true)?;
/// checkpoint(|inputs| inputs[0].exp()?.exp(), &[&x])?.backward()?;
/// assert_eq!(x.grad()?.unwrap().item::<f32>()?, std::f32::consts::E);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// Those of the closure.
pub fn checkpoint<F>(function: F, inputs: &[&Tensor]) -> Result<Tensor>
where
    F: Fn(&[&Tensor]) -> Result<Tensor> + Send + Sync + 'static,
{
    checkpoint_with(function, inputs, CheckpointOptions::default())
}

/// [`checkpoint`] with everything that it may be told.
///
/// # Errors
///
/// Those of the closure; backward fails with [`Status::Recompute`] where the second run saves other
/// values.
pub fn checkpoint_with<F>(
    function: F,
    inputs: &[&Tensor],
    options: CheckpointOptions,
) -> Result<Tensor>
where
    F: Fn(&[&Tensor]) -> Result<Tensor> + Send + Sync + 'static,
{
    crate::open_library()?;
    let function = Arc::new(function);
    let again = sys::flam_recompute {
        struct_size: size_of::<sys::flam_recompute>(),
        user: into_user(function.clone()),
        run: Some(run::<F>),
        drop: Some(drop_user::<Arc<F>>),
    };
    let handles = pointers(inputs);
    let options = sys::flam_checkpoint_push_options {
        preserve_rng_state: options.preserve_rng_state.into(),
        early_stop: options.early_stop.into(),
        check_determinism: options.check_determinism.into(),
        ..Default::default()
    };
    let mut token = 0;
    let access = reading();
    // SAFETY: `handles` has its own length, and `inputs` keeps the tensors in it; the table is
    // copied, and the library drops `user` once, also where this fails.
    unsafe {
        check(sys::flam_checkpoint_push(
            &again,
            handles.as_ptr(),
            handles.len(),
            &mut token,
            &options,
        ))?;
    }
    drop(access);
    let _scope = Scope::new(token);
    function(inputs)
}

impl Layer {
    /// The module on inputs, keeping only these for backward, which runs it again with the same
    /// random numbers.
    ///
    /// # Errors
    ///
    /// Those of its operations.
    pub fn checkpoint(&self, inputs: &[impl Borrow<Tensor>]) -> Result<Tensor> {
        let raw = pointers(inputs);
        let _access = self.forward_access();
        // SAFETY: `self` keeps the module and `inputs` the tensors of `raw`, which has its own
        // length.
        unsafe { made(sys::flam_module_checkpoint(self.raw(), raw.as_ptr(), raw.len(), 1)) }
    }
}
