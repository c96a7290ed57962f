//! The lock between the program's threads: calls that read run side by side, one that writes runs
//! alone.
//!
//! Why: handles are counted, so safe code reaches one tensor by several handles, on several
//! threads, and through the modules, optimizers and graphs that hold it. The engine lets reads run
//! at once and asks that writes be alone; `&mut` cannot promise that for what is shared, so a lock
//! does, as the one inside a candle or a `RwLock<T>` would.
//!
//! Invariants, and with them the argument that safe code has no data race:
//! - Every call that is handed a tensor or a handle is made under [`reading`] or [`writing`]; the
//!   generator takes the latter for all that C's header lets the call change (a pointer without
//!   `const`), and for what changes tensors behind lists: gradients and parameters.
//! - What a call leaves behind is memory of the program's own: no reference into the engine
//!   outlives the guard, but those of `unsafe` functions.
//! - No thread of a program waits for another one while it holds the lock: loaders, stores and
//!   works, and groups where no tensor is given, are waited for without it, and a callback gives it
//!   back for as long as it runs ([`suspended`]). Hence nothing can get stuck. Collectives with
//!   tensors and a `Ddp`'s backward wait with it for other ranks, which are other processes.
//!
//! It is all safe code: the guards are those of the standard library.
//!
//! Where a guard goes a call has returned, and what waited for that is done (`scope::settle`).

use std::{
    cell::RefCell,
    marker::PhantomData,
    mem::ManuallyDrop,
    sync::{
        atomic::{AtomicU64, Ordering},
        RwLock, RwLockReadGuard, RwLockWriteGuard,
    },
};

use crate::scope::settle;

static ENGINE: RwLock<()> = RwLock::new(());
/// How often a call began to write.
static WRITES: AtomicU64 = AtomicU64::new(0);

/// How a thread holds the lock: the guards are held, and nothing reads them.
#[allow(dead_code)]
enum Held {
    Reading(RwLockReadGuard<'static, ()>),
    Writing(RwLockWriteGuard<'static, ()>),
}

impl Held {
    fn take(writes: bool) -> Self {
        // The lock guards no data of its own, so a panic leaves nothing half done.
        if writes {
            let guard = ENGINE.write().unwrap_or_else(|poisoned| poisoned.into_inner());
            WRITES.fetch_add(1, Ordering::Relaxed); // the lock orders it
            Self::Writing(guard)
        } else {
            Self::Reading(ENGINE.read().unwrap_or_else(|poisoned| poisoned.into_inner()))
        }
    }

    fn writes(&self) -> bool {
        matches!(self, Self::Writing(_))
    }
}

thread_local! {
    // Without a destructor, so that calls out of other thread-locals' destructors find it, too.
    static HELD: RefCell<ManuallyDrop<Option<Held>>> =
        const { RefCell::new(ManuallyDrop::new(None)) };
}

/// Changes how this thread holds the lock; the result is how it held it before.
fn exchange(new: Option<Held>) -> Option<Held> {
    ManuallyDrop::into_inner(HELD.with(|held| held.replace(ManuallyDrop::new(new))))
}

fn held_for_writing() -> Option<bool> {
    HELD.with(|held| held.borrow().as_ref().map(Held::writes))
}

/// The lock for the length of a call; calls nest.
#[derive(Debug)]
#[must_use = "the call must end before this is dropped"]
pub(crate) struct Access {
    before: Before,
    thread: PhantomData<*const ()>, // the lock is the thread's
}

#[derive(Debug, PartialEq)]
enum Before {
    /// An outer call holds what this one needs, or it needs nothing.
    Enough,
    /// An outer call reads, this one writes.
    Reading,
    Nothing,
}

fn access(writes: bool) -> Access {
    let before = match held_for_writing() {
        Some(held) if held || !writes => Before::Enough,
        Some(_) => Before::Reading,
        None => Before::Nothing,
    };
    if before != Before::Enough {
        drop(exchange(None)); // never two guards: a reader that waits to write would be stuck
        exchange(Some(Held::take(writes)));
    }
    Access { before, thread: PhantomData }
}

/// For calls that wait for threads, and on handles that nobody else has.
pub(crate) fn unlocked() -> Access {
    Access { before: Before::Enough, thread: PhantomData }
}

/// For calls that change nothing that another handle sees.
pub(crate) fn reading() -> Access {
    access(false)
}

/// For calls that may change what other handles see.
pub(crate) fn writing() -> Access {
    access(true)
}

impl Drop for Access {
    fn drop(&mut self) {
        if self.before != Before::Enough {
            drop(exchange(None));
        }
        if self.before == Before::Reading {
            exchange(Some(Held::take(false)));
        }
        settle();
    }
}

/// Runs the program's code inside of a call: without the lock, as the thread may wait for others
/// there, and with it again afterwards. Where somebody wrote in the meantime the rest of the call
/// is alone: it may write now, as a model does that was set to train.
pub(crate) fn suspended<R>(run: impl FnOnce() -> R) -> R {
    struct Resume(Option<(bool, u64)>);
    impl Drop for Resume {
        fn drop(&mut self) {
            if let Some((writes, before)) = self.0 {
                let mut held = Held::take(writes);
                if !writes && WRITES.load(Ordering::Relaxed) != before {
                    drop(held);
                    held = Held::take(true);
                }
                exchange(Some(held));
            }
        }
    }
    let held = exchange(None);
    let _resume = Resume(held.map(|held| (held.writes(), WRITES.load(Ordering::Relaxed))));
    run()
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            atomic::{AtomicI32, Ordering::SeqCst},
            mpsc,
        },
        thread,
        time::Duration,
    };

    use super::*;

    /// Readers and writers at once, nested and in callbacks: writers are alone, and nobody is
    /// stuck.
    #[test]
    fn writers_are_alone() {
        static INSIDE: AtomicI32 = AtomicI32::new(0); // readers, or -1000 for a writer
        fn read() {
            let _access = reading();
            assert!(INSIDE.fetch_add(1, SeqCst) >= 0);
            drop(reading());
            INSIDE.fetch_sub(1, SeqCst);
        }
        fn write() {
            let _access = writing();
            assert_eq!(INSIDE.fetch_sub(1000, SeqCst), 0);
            drop((reading(), writing()));
            INSIDE.fetch_add(1000, SeqCst);
            suspended(|| thread::spawn(read).join().unwrap());
            assert_eq!(INSIDE.fetch_sub(1000, SeqCst), 0);
            INSIDE.fetch_add(1000, SeqCst);
        }
        let turns = if cfg!(miri) { 5 } else { 200 };
        let workers: Vec<_> = (0..4)
            .map(|i| thread::spawn(move || (0..turns).for_each(|_| [read, write][i % 2]())))
            .collect();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    }

    /// Where another test's thread waits to write, no reader is let in: then it is tried again.
    #[test]
    fn readers_run_side_by_side() {
        let met = || {
            let (arrive, arrived) = mpsc::channel();
            let access = reading();
            let other = thread::spawn(move || {
                let _access = reading();
                let _ = arrive.send(());
            });
            let met = arrived.recv_timeout(Duration::from_secs(1)).is_ok();
            drop(access);
            other.join().unwrap();
            met
        };
        assert!((0..20).any(|_| met()));
    }

    #[test]
    fn a_call_within_a_call_keeps_what_the_outer_one_needs() {
        let outer = reading();
        {
            let _inner = writing();
            assert_eq!(held_for_writing(), Some(true));
            suspended(|| assert_eq!(held_for_writing(), None));
            assert_eq!(held_for_writing(), Some(true));
        }
        assert_eq!(held_for_writing(), Some(false));
        suspended(|| drop(writing()));
        assert_eq!(held_for_writing(), Some(true));
        drop(outer);
        assert_eq!(held_for_writing(), None);
    }

    #[test]
    fn a_panic_gives_the_lock_back() {
        let result = std::panic::catch_unwind(|| {
            let _access = writing();
            suspended(|| panic!("in a callback"))
        });
        assert!(result.is_err());
        assert_eq!(held_for_writing(), None);
        thread::spawn(|| drop(writing())).join().unwrap();
    }
}
