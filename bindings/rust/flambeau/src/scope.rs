//! Scopes of this thread: grad mode, inference mode, autocast, the current device and stream.

use std::{
    cell::{Cell, RefCell},
    marker::PhantomData,
};

use crate::{
    access::reading,
    call::check,
    sys::{self, flam_scope},
    Device, DeviceType, Dtype, Error, Layer, MemoryPool, Result, Status, Stream,
};

/// The scopes of one thread, innermost last. The engine ends them in reverse order only, and guards
/// may be dropped in any: a scope whose guard is gone ends as soon as those inside of it have.
#[derive(Default)]
struct Open {
    scopes: Vec<Entry>,
    /// Scopes below were opened outside of the callback that is running, and stay.
    floor: usize,
}

struct Entry {
    token: flam_scope,
    guarded: bool,
}

thread_local! {
    static OPEN: RefCell<Open> = RefCell::new(Open::default());
    /// Whether a callback left scopes of its caller's without a guard. Without a destructor: calls
    /// read it wherever they return.
    static LEFT: Cell<bool> = const { Cell::new(false) };
}

/// None where the thread ends and its list is gone: a scope then ends where its guard is dropped,
/// if it is the innermost one, or with the thread.
fn with_open<R>(f: impl FnOnce(&mut Open) -> R) -> Option<R> {
    OPEN.try_with(|open| f(&mut open.borrow_mut())).ok()
}

impl Open {
    /// Takes the guard off a scope; the result is whether it was the innermost one.
    fn unguard(&mut self, token: flam_scope) -> bool {
        let innermost = self.scopes.last().map_or(false, |s| s.token == token);
        if let Some(entry) = self.scopes.iter_mut().rfind(|s| s.token == token) {
            entry.guarded = false;
        }
        innermost
    }

    /// Whether nothing guards the innermost scope any more.
    fn is_over(&self) -> bool {
        self.scopes[self.floor..].last().map_or(false, |s| !s.guarded)
    }

    /// Takes out the innermost scope where nothing guards it any more.
    fn take_unguarded(&mut self) -> Option<flam_scope> {
        self.is_over().then(|| self.scopes.pop())?.map(|s| s.token)
    }
}

/// Ends what nothing guards any more, one by one and outside of the list's borrow: what a scope
/// held may run the program's code when it goes, which opens and ends scopes itself.
fn sweep() {
    while let Some(token) = with_open(Open::take_unguarded).flatten() {
        end(token);
    }
}

/// Called where a call has returned: ends what one of its callbacks took the guards off, which the
/// engine would not end before.
pub(crate) fn settle() {
    if LEFT.with(|left| left.replace(false)) {
        sweep();
    }
}

fn end(token: flam_scope) {
    // SAFETY: any number may be given; one that is not this thread's innermost scope is refused.
    if unsafe { sys::flam_scope_pop(token) } != sys::FLAM_OK {
        drop(Error::take()); // something else ended it: it is over
    }
}

/// Takes the guard off a scope and ends what that leaves without one; the result is whether the
/// scope was the innermost one.
fn close(token: flam_scope) -> bool {
    match with_open(|open| open.unguard(token)) {
        Some(innermost) => {
            sweep();
            innermost
        }
        None => {
            end(token);
            true
        }
    }
}

/// Runs a callback with scopes of its own: what it leaves open ends with it, and what was open
/// before stays open until it returns, whatever it drops.
pub(crate) fn in_callback<R>(run: impl FnOnce() -> R) -> R {
    struct Leave(usize);
    impl Drop for Leave {
        fn drop(&mut self) {
            with_open(|open| {
                let floor = open.floor;
                open.scopes[floor..].iter_mut().for_each(|s| s.guarded = false);
            });
            sweep();
            with_open(|open| {
                open.floor = self.0;
                LEFT.with(|left| left.set(open.is_over()));
            });
        }
    }
    let raise = |open: &mut Open| std::mem::replace(&mut open.floor, open.scopes.len());
    let _leave = with_open(raise).map(Leave);
    run()
}

/// A setting of this thread that ends with the guard, also when a panic unwinds.
///
/// Guards may be dropped in any order. Where scopes that were opened later are open still, the
/// setting lasts until they end: the thread's state is what it was once all guards are gone. Where
/// a callback drops a guard of its caller's, the setting ends with the call that runs the callback.
///
/// ```
/// use flambeau::{grad_enabled, Scope, Tensor};
///
/// let x = Tensor::from([1.0f32]);
/// {
///     let _frozen = Scope::no_grad();
///     assert!(!grad_enabled());
/// }
/// assert!(grad_enabled());
/// ```
#[must_use = "the scope ends when this is dropped"]
#[derive(Debug)]
pub struct Scope {
    token: flam_scope,
    thread: PhantomData<*const ()>, // the setting is the thread's: neither Send nor Sync
}

impl Scope {
    /// Panics where the engine opened none: for want of memory, or as the thread has ended its own.
    pub(crate) fn new(token: flam_scope) -> Self {
        if token == 0 {
            panic!("{}", Error::take());
        }
        with_open(|open| open.scopes.push(Entry { token, guarded: true }));
        Self { token, thread: PhantomData }
    }

    /// Records nothing until dropped.
    pub fn no_grad() -> Self {
        // SAFETY: takes no address; the mode is this thread's, and so is the guard.
        Self::new(unsafe { sys::flam_grad_mode_push(0) })
    }

    /// Records again, inside of [`Scope::no_grad`].
    pub fn enable_grad() -> Self {
        // SAFETY: takes no address; the mode is this thread's, and so is the guard.
        Self::new(unsafe { sys::flam_grad_mode_push(1) })
    }

    /// Records nothing, and keeps tensors made meanwhile outside autograd for good.
    pub fn inference() -> Self {
        // SAFETY: takes no address; the mode is this thread's, and so is the guard.
        Self::new(unsafe { sys::flam_inference_mode_push(1) })
    }

    /// Labels memory with the module's path, for out-of-memory errors and snapshots.
    /// Calling a module does so by itself.
    pub fn module(module: &Layer) -> Self {
        let _access = reading();
        // SAFETY: `module` is live during the call; the engine keeps the label itself, by name.
        Self::new(unsafe { sys::flam_module_push(module.raw()) })
    }

    /// Lets operations on a kind of device choose their dtype until dropped: `dtype`, or bfloat16
    /// on the cpu and float16 on GPUs, where they gain by it, float32 where they need it. Casts of
    /// parameters are kept until the outermost guard is dropped.
    ///
    /// # Errors
    ///
    /// [`Status::Dtype`](crate::Status::Dtype) for a dtype other than float16, bfloat16 and
    /// float32.
    pub fn autocast(device_type: DeviceType, dtype: Option<Dtype>) -> Result<Self> {
        Self::autocast_with(device_type, dtype, true, true)
    }

    /// [`Scope::autocast`], on or off, and with or without keeping casts.
    ///
    /// # Errors
    ///
    /// As [`Scope::autocast`].
    pub fn autocast_with(
        device_type: DeviceType,
        dtype: Option<Dtype>,
        enabled: bool,
        cache_enabled: bool,
    ) -> Result<Self> {
        crate::open_library()?;
        let options = sys::flam_autocast_push_options {
            dtype: dtype.map_or(0, Dtype::code),
            enabled: enabled.into(),
            cache_enabled: cache_enabled.into(),
            ..Default::default()
        };
        let mut token = 0;
        // SAFETY: `token` is a place to write to, and the options are read before the call returns.
        unsafe { check(sys::flam_autocast_push(device_type.code(), &mut token, &options))? };
        Ok(Self::new(token))
    }

    /// Ends the scope, saying whether it was the innermost one.
    ///
    /// # Errors
    ///
    /// [`Status::Scope`] where a scope opened later is still open: the setting lasts until that one
    /// ends.
    pub fn end(self) -> Result<()> {
        if close(std::mem::ManuallyDrop::new(self).token) {
            return Ok(());
        }
        let text = "a scope that was opened later is still open; end scopes in reverse order";
        Err(Error::new(Status::Scope, text))
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        close(self.token);
    }
}

/// Runs `f` without recording.
pub fn no_grad<R>(f: impl FnOnce() -> R) -> R {
    let _scope = Scope::no_grad();
    f()
}

/// Runs `f` with recording, inside of [`no_grad`].
pub fn enable_grad<R>(f: impl FnOnce() -> R) -> R {
    let _scope = Scope::enable_grad();
    f()
}

/// Runs `f` in inference mode.
pub fn inference_mode<R>(f: impl FnOnce() -> R) -> R {
    let _scope = Scope::inference();
    f()
}

/// Runs `f` with autocast on for a kind of device.
///
/// # Errors
///
/// As [`Scope::autocast`].
pub fn autocast<R>(
    device_type: DeviceType,
    dtype: Option<Dtype>,
    f: impl FnOnce() -> R,
) -> Result<R> {
    let _scope = Scope::autocast(device_type, dtype)?;
    Ok(f())
}

impl Device {
    /// Makes this the current device of its kind until the guard is dropped.
    ///
    /// # Errors
    ///
    /// [`Status::NoGpu`](crate::Status::NoGpu) and the like where there is no such device.
    pub fn push(self) -> Result<Scope> {
        crate::open_library()?;
        let mut token = 0;
        // SAFETY: any device code may be given, and `token` is a place to write to.
        unsafe { check(sys::flam_device_push(self.0, &mut token))? };
        Ok(Scope::new(token))
    }
}

impl Stream {
    /// Makes this the current stream of its device until the guard is dropped.
    ///
    /// # Errors
    ///
    /// Those of the device.
    pub fn push(&self) -> Result<Scope> {
        let mut token = 0;
        let _access = reading();
        // SAFETY: `self` is live during the call, `token` a place to write to; the engine copies
        // which stream it is, and streams stay.
        unsafe { check(sys::flam_stream_push(self.raw(), &mut token))? };
        Ok(Scope::new(token))
    }
}

impl MemoryPool {
    /// Lets this thread's allocations on the pool's device come out of it until the guard is
    /// dropped.
    ///
    /// # Errors
    ///
    /// None but those of a failed operand.
    pub fn push(&self) -> Result<Scope> {
        let mut token = 0;
        let _access = reading();
        // SAFETY: `self` is live during the call, `token` a place to write to; the engine keeps the
        // pool itself while the scope is open.
        unsafe { check(sys::flam_memory_pool_push(self.raw(), &mut token))? };
        Ok(Scope::new(token))
    }
}
