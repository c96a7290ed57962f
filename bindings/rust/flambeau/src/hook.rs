//! Closures that see gradients, and closures around a module's forward.

use std::{
    mem::{size_of, ManuallyDrop},
    os::raw::c_void,
};

use crate::{
    access::writing,
    call::made,
    callback::{borrowed, drop_user, guarded, into_user, user_of},
    nn::Layer,
    sys, Hook, HookMoment, Result, Tensor,
};

unsafe extern "C" fn on_gradient<F>(
    user: *mut c_void,
    grad: *const sys::flam_tensor,
    out: *mut *mut sys::flam_tensor,
) -> sys::flam_status
where
    F: Fn(&Tensor) -> Result<Option<Tensor>>,
{
    guarded(|| {
        // SAFETY: `user` is what `gradient_callback` boxed, and C lends the gradient for the call.
        let (hook, grad) = unsafe { (user_of::<F>(user), borrowed(grad)) };
        if let Some(replacement) = grad.map_or(Ok(None), |grad| hook(&grad))? {
            // SAFETY: C's place for one result, which it takes over.
            unsafe { *out = replacement.into_ptr() };
        }
        Ok(())
    })
}

fn gradient_callback<F>(hook: F) -> sys::flam_hook_callback
where
    F: Fn(&Tensor) -> Result<Option<Tensor>> + Send + Sync + 'static,
{
    sys::flam_hook_callback {
        struct_size: size_of::<sys::flam_hook_callback>(),
        user: into_user(hook),
        call: Some(on_gradient::<F>),
        drop: Some(drop_user::<F>),
        absent: 0,
        reserved: 0,
    }
}

impl Tensor {
    /// Runs `hook` on the gradient whenever backward computes it; what it returns takes the
    /// gradient's place. Dropping the result leaves the hook registered; [`Hook::remove`] removes
    /// it.
    ///
    /// # Errors
    ///
    /// [`Status::Autograd`](crate::Status::Autograd) where the tensor does not require grad.
    pub fn register_hook<F>(&mut self, hook: F) -> Result<Hook>
    where
        F: Fn(&Tensor) -> Result<Option<Tensor>> + Send + Sync + 'static,
    {
        let callback = gradient_callback(hook);
        let _access = writing();
        // SAFETY: `self` keeps the tensor; the callback is copied, and the library drops `user`
        // once, also where this fails.
        unsafe { made(sys::flam_tensor_register_hook(self.raw(), &callback)) }
    }

    /// Runs `hook` on a leaf after its gradient was accumulated.
    ///
    /// # Errors
    ///
    /// [`Status::Autograd`](crate::Status::Autograd) where it is no leaf or does not require grad.
    pub fn register_post_accumulate_grad_hook<F>(&mut self, hook: F) -> Result<Hook>
    where
        F: Fn(&Tensor) -> Result<()> + Send + Sync + 'static,
    {
        let callback = gradient_callback(move |leaf: &Tensor| hook(leaf).map(|()| None));
        let _access = writing();
        // SAFETY: `self` keeps the tensor; the callback is copied, and the library drops `user`
        // once, also where this fails.
        unsafe { made(sys::flam_tensor_register_post_accumulate_grad_hook(self.raw(), &callback)) }
    }
}

unsafe extern "C" fn around_forward<F>(
    user: *mut c_void,
    input: *const sys::flam_tensor,
    output: *const sys::flam_tensor,
    out: *mut *mut sys::flam_tensor,
) -> sys::flam_status
where
    F: Fn(&Tensor, Option<&Tensor>) -> Result<Option<Tensor>>,
{
    guarded(|| {
        // SAFETY: `user` is what `add_hook` boxed, and C lends both tensors for the call.
        let (hook, input, output) =
            unsafe { (user_of::<F>(user), borrowed(input), borrowed(output)) };
        let run = |input: ManuallyDrop<Tensor>| hook(&input, output.as_deref());
        if let Some(replacement) = input.map_or(Ok(None), run)? {
            // SAFETY: C's place for one result, which it takes over.
            unsafe { *out = replacement.into_ptr() };
        }
        Ok(())
    })
}

impl Layer {
    fn register<F>(&mut self, moment: HookMoment, hook: F) -> Result<Hook>
    where
        F: Fn(&Tensor, Option<&Tensor>) -> Result<Option<Tensor>> + Send + Sync + 'static,
    {
        let callback = sys::flam_module_hook_callback {
            struct_size: size_of::<sys::flam_module_hook_callback>(),
            user: into_user(hook),
            call: Some(around_forward::<F>),
            drop: Some(drop_user::<F>),
        };
        let _access = writing();
        // SAFETY: `self` keeps the module; the callback is copied, and the library drops `user`
        // once, also where this fails.
        unsafe { made(sys::flam_module_register_hook(self.raw(), moment.code(), &callback)) }
    }

    /// Runs `hook` before every forward, on its input, which it may replace. Dropping the
    /// result leaves the hook registered; [`Hook::remove`] removes it.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub fn register_forward_pre_hook<F>(&mut self, hook: F) -> Result<Hook>
    where
        F: Fn(&Tensor) -> Result<Option<Tensor>> + Send + Sync + 'static,
    {
        self.register(HookMoment::ForwardPre, move |input: &Tensor, _: Option<&Tensor>| hook(input))
    }

    /// Runs `hook` after every forward, on input and output; it may replace the output.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub fn register_forward_hook<F>(&mut self, hook: F) -> Result<Hook>
    where
        F: Fn(&Tensor, &Tensor) -> Result<Option<Tensor>> + Send + Sync + 'static,
    {
        self.register(HookMoment::Forward, move |input: &Tensor, output: Option<&Tensor>| {
            match output {
                Some(output) => hook(input, output),
                None => Ok(None),
            }
        })
    }
}
