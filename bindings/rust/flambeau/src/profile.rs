//! The profiler as guards: one that records while it lives, and named ranges.

use std::{ffi::CString, marker::PhantomData, mem::ManuallyDrop};

use crate::{profiler::ProfilerOptions, profiler_start_with, profiler_stop, sys, Profile, Result};

/// Records every op, gradient and named range, on all threads, until [`Profiler::stop`] or drop.
#[must_use = "recording ends when this is dropped"]
#[derive(Debug)]
pub struct Profiler(());

impl Profiler {
    /// Starts to record times.
    ///
    /// # Errors
    ///
    /// [`Status::InvalidArgument`](crate::Status::InvalidArgument) where a profiler is running
    /// already.
    pub fn start() -> Result<Self> {
        Self::start_with(ProfilerOptions::default())
    }

    /// Starts to record what the options say.
    ///
    /// ```
    /// use flambeau::{ones, profiler::{NamedRange, Profiler, ProfilerOptions}};
    ///
    /// fn main() -> flambeau::Result<()> {
    ///     let options = ProfilerOptions::default().record_shapes(true);
    ///     let profiler = Profiler::start_with(options)?;
    ///     {
    ///         let _range = NamedRange::new("work");
    ///         ones(&[4, 4])?.exp()?;
    ///     }
    ///     let profile = profiler.stop()?;
    ///     assert!(profile.table()?.contains("work"));
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Profiler::start`].
    pub fn start_with(options: ProfilerOptions) -> Result<Self> {
        profiler_start_with(options)?;
        Ok(Self(()))
    }

    /// Stops, and waits for what devices have to do still.
    ///
    /// # Errors
    ///
    /// [`Status::InvalidArgument`](crate::Status::InvalidArgument) where somebody else stopped
    /// it.
    pub fn stop(self) -> Result<Profile> {
        let _stopped = ManuallyDrop::new(self);
        profiler_stop()
    }
}

impl Drop for Profiler {
    fn drop(&mut self) {
        drop(profiler_stop());
    }
}

/// A named range of this thread's work, until dropped. Costs next to nothing while no profiler
/// runs.
#[must_use = "the range ends when this is dropped"]
#[derive(Debug)]
pub struct NamedRange {
    token: u64,
    thread: PhantomData<*const ()>, // the range is the thread's: neither Send nor Sync
}

impl NamedRange {
    /// Opens the range. A name with a zero byte ends there.
    pub fn new(name: &str) -> Self {
        let bytes: Vec<u8> = name.bytes().take_while(|b| *b != 0).collect();
        let text = CString::new(bytes).unwrap_or_default();
        // SAFETY: a `CString` that outlives the call; the library keeps a copy.
        let token = unsafe { sys::flam_range_begin(text.as_ptr()) };
        Self { token, thread: PhantomData }
    }
}

impl Drop for NamedRange {
    fn drop(&mut self) {
        // SAFETY: the token is of `flam_range_begin` on this thread, which a guard cannot leave.
        unsafe { sys::flam_range_end(self.token) };
    }
}
