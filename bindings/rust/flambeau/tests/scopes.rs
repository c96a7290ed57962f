//! Scopes end in any order, in callbacks, in the drops of what they held and with their thread.

mod place;

use std::{
    any::Any,
    cell::RefCell,
    mem::forget,
    sync::{
        atomic::{AtomicUsize, Ordering::SeqCst},
        Arc,
    },
    thread,
};

use flambeau::{
    autograd::inference_enabled,
    data::{Dataset, Loader},
    grad_enabled, nn, zeros, Result, Scope, Status, Tensor,
};

#[test]
fn scopes_end_in_any_order() {
    let (outer, inner) = (Scope::no_grad(), Scope::enable_grad());
    drop(outer);
    assert!(grad_enabled());
    drop(inner);
    assert!(grad_enabled());

    let (a, b, c) = (Scope::no_grad(), Scope::inference(), Scope::no_grad());
    drop(b);
    assert_eq!(a.end().unwrap_err().status(), Status::Scope);
    assert!(!grad_enabled());
    c.end().unwrap();
    assert!(grad_enabled() && !inference_enabled());
}

#[test]
fn a_callback_leaves_no_scope_behind() {
    let layer = nn::Layer::from_fn(|x| {
        std::mem::forget(Scope::no_grad());
        x.add(1.0)
    })
    .unwrap();
    let outer = Scope::enable_grad();
    layer.forward(&zeros(&[1]).unwrap()).unwrap();
    assert!(grad_enabled());
    outer.end().unwrap();
}

thread_local! {
    static GUARD: RefCell<Option<Scope>> = const { RefCell::new(None) };
}

fn drop_guard() {
    GUARD.with(|guard| drop(guard.borrow_mut().take()));
}

struct DropsGuard;

impl Drop for DropsGuard {
    fn drop(&mut self) {
        drop_guard();
    }
}

/// A call, and what it made: a handle that goes is a call, too.
type Call = Box<dyn FnMut() -> Box<dyn Any>>;

/// What runs `drop_guard` in a callback, of each kind of call.
fn calls_that_drop_the_guard() -> Result<Vec<(&'static str, Call)>> {
    let layer = nn::Layer::from_fn(|x| {
        drop_guard();
        x.add(1.0)
    })?;
    let inner = layer.clone();
    let outer = nn::Layer::from_fn(move |x| {
        let y = inner.forward(x)?;
        assert!(!grad_enabled()); // it is the outer caller's
        y.add(1.0)
    })?;
    let samples = Dataset::from_fn(1, |_| {
        drop_guard();
        Ok(vec![zeros(&[1])?])
    })?;
    let mut loader = Loader::new(&samples)?;
    let held = DropsGuard;
    let mut last = Some(nn::Layer::from_fn(move |x| {
        let _held = &held;
        x.add(1.0)
    })?);
    let (x, same) = (zeros(&[1])?, zeros(&[1])?);
    Ok(vec![
        ("a call", Box::new(move || Box::new(layer.forward(&x)))),
        ("a call in a call", Box::new(move || Box::new(outer.forward(&same)))),
        ("a call without the lock", Box::new(move || Box::new(loader.next_batch()))),
        ("the end of a handle", Box::new(move || Box::new(drop(last.take())))),
    ])
}

#[test]
fn a_callback_may_drop_a_guard_of_its_callers() {
    for (what, mut call) in calls_that_drop_the_guard().unwrap() {
        GUARD.with(|guard| *guard.borrow_mut() = Some(Scope::no_grad()));
        let _made = call();
        assert!(GUARD.with(|guard| guard.borrow().is_none()), "{what}");
        assert!(grad_enabled(), "{what}");
    }
}

/// Its drop opens and ends scopes, and leaves one open.
struct Scoped(Arc<AtomicUsize>);

impl Drop for Scoped {
    fn drop(&mut self) {
        let (outer, inner) = (Scope::no_grad(), Scope::enable_grad());
        drop(inner);
        assert!(!grad_enabled());
        drop(outer);
        assert!(grad_enabled());
        forget(Scope::inference());
        assert!(inference_enabled());
        self.0.fetch_add(1, SeqCst);
    }
}

/// A scope that holds a [`Scoped`].
fn holding(drops: &Arc<AtomicUsize>) -> Scope {
    let held = Scoped(drops.clone());
    let pack = move |tensor: &Tensor| {
        let _held = &held;
        Ok(tensor.clone())
    };
    Scope::saved_hooks(pack, |packed: &Tensor| Ok(packed.clone())).unwrap()
}

#[test]
fn what_a_scope_held_opens_scopes_when_it_goes() {
    let drops = Arc::new(AtomicUsize::new(0));
    let (a, b, c) = (holding(&drops), holding(&drops), holding(&drops));
    drop(b);
    drop(a);
    assert_eq!(drops.load(SeqCst), 0);
    drop(c);
    assert_eq!(drops.load(SeqCst), 3);
    let theirs = drops.clone();
    let layer = nn::Layer::from_fn(move |x| {
        forget(holding(&theirs));
        x.add(1.0)
    })
    .unwrap();
    layer.forward(&zeros(&[1]).unwrap()).unwrap();
    assert_eq!(drops.load(SeqCst), 4);
    assert!(grad_enabled() && !inference_enabled());
}

/// Whichever thread-local goes first: the list of scopes, or what holds one.
#[test]
fn a_thread_ends_with_scopes_open() {
    thread_local! {
        static LATE: RefCell<Vec<Scope>> = const { RefCell::new(Vec::new()) };
    }
    let drops = Arc::new(AtomicUsize::new(0));
    for list_first in [false, true] {
        let theirs = drops.clone();
        let work = move || {
            if list_first {
                drop(Scope::no_grad());
            }
            LATE.with(|late| {
                late.borrow_mut().push(holding(&theirs));
                late.borrow_mut().push(holding(&theirs));
            });
            forget(holding(&theirs));
        };
        thread::spawn(work).join().unwrap();
    }
    assert_eq!(drops.load(SeqCst), 6);
}
