//! A data parallel step as programs write it: one forward with what comes before and after it,
//! gradients that stay on their rank for a while, and a reduction of the program's own.

use std::{
    mem::size_of,
    os::raw::c_void,
    ptr::NonNull,
    sync::{Mutex, PoisonError},
};

use crate::{
    access::writing,
    call::check,
    callback::{borrowed, drop_user, guarded, into_user, user_of},
    distributed::Ddp,
    sys, Error, Result, Scope, Status, Tensor,
};

/// What is done with a bucket of gradients in the place of the sum that is divided by the number of
/// ranks. Every rank must do the same.
pub trait CommHook: Send + Sync + 'static {
    /// What was begun, as a [`Work`](crate::distributed::Work).
    type Pending: Send + 'static;

    /// Begins to reduce the memory of a bucket, which holds this rank's gradients; backward goes on
    /// where it returns.
    ///
    /// # Errors
    ///
    /// Any; backward fails with it.
    fn begin(&self, bucket: usize, buffer: &Tensor) -> Result<Self::Pending>;

    /// Waits for the result: a tensor of as many elements, or `None` where it is in the bucket
    /// itself.
    ///
    /// # Errors
    ///
    /// As [`CommHook::begin`].
    fn finish(&self, pending: Self::Pending) -> Result<Option<Tensor>>;
}

/// What a hook has begun, until it is finished.
type Begun<H> = Mutex<Option<<H as CommHook>::Pending>>;

unsafe extern "C" fn begin<H: CommHook>(
    user: *mut c_void,
    bucket: usize,
    buffer: *const sys::flam_tensor,
    out: *mut *mut c_void,
) -> sys::flam_status {
    guarded(|| {
        // SAFETY: `user` is what `register_hook` boxed, and C lends the buffer for the call.
        let (hook, buffer) = unsafe { (user_of::<H>(user), borrowed(buffer)) };
        let buffer = buffer.ok_or_else(|| Error::new(Status::Internal, "a bucket is missing"))?;
        let begun: Begun<H> = Mutex::new(Some(hook.begin(bucket, &buffer)?));
        // SAFETY: C's place for one pointer, which it hands to the functions below.
        unsafe { *out = into_user(begun) };
        Ok(())
    })
}

unsafe extern "C" fn finish<H: CommHook>(
    user: *mut c_void,
    pending: *mut c_void,
    out: *mut *mut sys::flam_tensor,
) -> sys::flam_status {
    guarded(|| {
        let pending = NonNull::new(pending)
            .ok_or_else(|| Error::new(Status::Internal, "a bucket was not begun"))?;
        // SAFETY: `user` is what `register_hook` boxed and `pending` what `begin` did; C drops both
        // after this.
        let (hook, begun) = unsafe { (user_of::<H>(user), user_of::<Begun<H>>(pending.as_ptr())) };
        let taken = begun.lock().unwrap_or_else(PoisonError::into_inner).take();
        let taken = taken.ok_or_else(|| Error::new(Status::Internal, "a bucket ended twice"))?;
        if let Some(reduced) = hook.finish(taken)? {
            // SAFETY: C's place for one result, which it takes over.
            unsafe { *out = reduced.into_ptr() };
        }
        Ok(())
    })
}

unsafe extern "C" fn drop_pending<H: CommHook>(_: *mut c_void, pending: *mut c_void) {
    // SAFETY: what `begin` boxed; C calls this once for it, and last.
    unsafe { drop_user::<Begun<H>>(pending) }
}

impl Ddp {
    /// One forward of a step: `run` computes from this rank's share what backward will begin at,
    /// and that backward leaves the mean of all ranks' gradients. Where there are several outputs,
    /// [`Ddp::prepare_forward`] and [`Ddp::prepare_backward`] stand around the forward instead.
    ///
    /// ```
    /// use flambeau::{distributed::{Ddp, Group, Store}, nn::Layer, ones};
    ///
    /// # fn main() -> flambeau::Result<()> {
    /// let group = Group::new(&Store::hash()?, 0, 1)?;
    /// let model = Layer::linear(3, 1)?;
    /// let mut ddp = Ddp::new(&group, &model)?;
    /// let y = ddp.forward(|| model.forward(&ones(&[2, 3])?))?;
    /// y.sum()?.backward()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// What `run` fails with; those of [`Ddp::prepare_forward`] and [`Ddp::prepare_backward`].
    pub fn forward(&mut self, run: impl FnOnce() -> Result<Tensor>) -> Result<Tensor> {
        self.prepare_forward()?;
        let output = run()?;
        self.prepare_backward(&[&output])?;
        Ok(output)
    }

    /// Lets gradients of forwards stay on their rank until the guard is dropped, and add up until
    /// a later backward reduces them: large batches in parts that fit.
    ///
    /// ```
    /// use flambeau::{distributed::{Ddp, Group, Store}, nn::Layer, ones};
    ///
    /// # fn main() -> flambeau::Result<()> {
    /// let group = Group::new(&Store::hash()?, 0, 1)?;
    /// let model = Layer::linear(3, 1)?;
    /// let mut ddp = Ddp::new(&group, &model)?;
    /// let part = ones(&[2, 3])?;
    /// {
    ///     let _apart = ddp.no_sync();
    ///     ddp.forward(|| model.forward(&part))?.sum()?.backward()?;
    /// }
    /// ddp.forward(|| model.forward(&part))?.sum()?.backward()?;
    /// let bias = model.parameter("bias")?;
    /// assert_eq!(bias.grad()?.unwrap().item::<f32>()?, 4.0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn no_sync(&mut self) -> Scope {
        let _access = writing();
        // SAFETY: `self` is live during the call, and the open scope keeps the coupling.
        Scope::new(unsafe { sys::flam_ddp_no_sync_push(self.raw()) })
    }

    /// Has a program's hook reduce the buckets.
    ///
    /// ```
    /// use flambeau::{
    ///     distributed::{CommHook, Ddp, Group, GroupAllReduceOptions, Store, Work},
    ///     nn::Layer, ones, Result, Tensor,
    /// };
    ///
    /// struct Sum(Group);
    ///
    /// impl CommHook for Sum {
    ///     type Pending = Work;
    ///     fn begin(&self, _bucket: usize, buffer: &Tensor) -> Result<Work> {
    ///         let options = GroupAllReduceOptions::default().async_op(true);
    ///         self.0.all_reduce_with(&[buffer], options)
    ///     }
    ///     fn finish(&self, sum: Work) -> Result<Option<Tensor>> {
    ///         sum.wait()?;
    ///         Ok(None)
    ///     }
    /// }
    ///
    /// # fn main() -> Result<()> {
    /// let group = Group::new(&Store::hash()?, 0, 1)?;
    /// let model = Layer::linear(3, 1)?;
    /// let mut ddp = Ddp::new(&group, &model)?;
    /// ddp.register_hook(Sum(group))?;
    /// ddp.forward(|| model.forward(&ones(&[2, 3])?))?.sum()?.backward()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Status::InvalidArgument`] where it has a hook.
    pub fn register_hook<H: CommHook>(&mut self, hook: H) -> Result<()> {
        let table = sys::flam_ddp_hook {
            struct_size: size_of::<sys::flam_ddp_hook>(),
            user: into_user(hook),
            begin: Some(begin::<H>),
            finish: Some(finish::<H>),
            drop_pending: Some(drop_pending::<H>),
            drop: Some(drop_user::<H>),
        };
        let _access = writing();
        // SAFETY: `self` keeps the coupling; the table is copied, and the library drops `user`
        // once, also where this fails.
        unsafe { check(sys::flam_ddp_register_hook(self.raw(), &table)) }
    }
}
