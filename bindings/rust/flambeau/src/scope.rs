//! Scopes of this thread: grad mode, inference mode, autocast, the current device and stream.

use std::{cell::RefCell, marker::PhantomData};

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
    next: u64,
    /// Scopes below were opened outside of the callback that is running, and stay.
    floor: usize,
}

struct Entry {
    id: u64,
    token: flam_scope,
    guarded: bool,
}

thread_local! {
    static OPEN: RefCell<Open> = RefCell::new(Open::default());
}

impl Open {
    /// Ends what nothing guards any more.
    fn sweep(&mut self) {
        while self.scopes.len() > self.floor && self.scopes.last().map_or(false, |s| !s.guarded) {
            let token = self.scopes.pop().map_or(0, |s| s.token);
            // SAFETY: any number may be given; the scope is this thread's.
            if unsafe { sys::flam_scope_pop(token) } != sys::FLAM_OK {
                drop(Error::take()); // something else ended it: it is over
            }
        }
    }

    /// Takes the guard off a scope; the result is whether it was the innermost one.
    fn close(&mut self, id: u64) -> bool {
        let innermost = self.scopes.last().map_or(false, |s| s.id == id);
        if let Some(entry) = self.scopes.iter_mut().find(|s| s.id == id) {
            entry.guarded = false;
        }
        self.sweep();
        innermost
    }
}

/// Runs a callback with scopes of its own: what it leaves open ends with it, and what was open
/// before stays open, whatever it drops.
pub(crate) fn in_callback<R>(run: impl FnOnce() -> R) -> R {
    struct Leave(usize);
    impl Drop for Leave {
        fn drop(&mut self) {
            OPEN.with(|open| {
                let mut open = open.borrow_mut();
                let floor = open.floor;
                open.scopes[floor..].iter_mut().for_each(|s| s.guarded = false);
                open.sweep();
                open.floor = self.0;
                open.sweep();
            });
        }
    }
    let _leave = OPEN.with(|open| {
        let mut open = open.borrow_mut();
        let leave = Leave(open.floor);
        open.floor = open.scopes.len();
        leave
    });
    run()
}

/// A setting of this thread that ends with the guard, also when a panic unwinds.
///
/// Guards may be dropped in any order. Where scopes that were opened later are open still, the
/// setting lasts until they end: the thread's state is what it was once all guards are gone.
#[must_use = "the scope ends when this is dropped"]
#[derive(Debug)]
pub struct Scope {
    id: u64,
    thread: PhantomData<*const ()>, // the setting is the thread's: neither Send nor Sync
}

impl Scope {
    pub(crate) fn new(token: flam_scope) -> Self {
        OPEN.with(|open| {
            let mut open = open.borrow_mut();
            open.next += 1;
            let id = open.next;
            open.scopes.push(Entry { id, token, guarded: true });
            Self { id, thread: PhantomData }
        })
    }

    /// Records nothing until dropped.
    pub fn no_grad() -> Self {
        // SAFETY: no arguments that could be wrong.
        Self::new(unsafe { sys::flam_grad_mode_push(0) })
    }

    /// Records again, inside of [`Scope::no_grad`].
    pub fn enable_grad() -> Self {
        // SAFETY: as above.
        Self::new(unsafe { sys::flam_grad_mode_push(1) })
    }

    /// Records nothing, and keeps tensors made meanwhile outside autograd for good.
    pub fn inference() -> Self {
        // SAFETY: as above.
        Self::new(unsafe { sys::flam_inference_mode_push(1) })
    }

    /// Labels memory with the module's path, for out-of-memory errors and snapshots.
    /// Calling a module does so by itself.
    pub fn module(module: &Layer) -> Self {
        let _access = reading();
        // SAFETY: the handle lives; the label outlives it.
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
        // SAFETY: a place to write to.
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
        let id = std::mem::ManuallyDrop::new(self).id;
        if OPEN.with(|open| open.borrow_mut().close(id)) {
            return Ok(());
        }
        let text = "a scope that was opened later is still open; end scopes in reverse order";
        Err(Error::new(Status::Scope, text))
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        // In a thread that ends the engine ends the scopes itself.
        let _ = OPEN.try_with(|open| open.borrow_mut().close(self.id));
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
        // SAFETY: a place to write to.
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
        // SAFETY: a live handle and a place to write to.
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
        // SAFETY: a live handle and a place to write to.
        unsafe { check(sys::flam_memory_pool_push(self.raw(), &mut token))? };
        Ok(Scope::new(token))
    }
}
