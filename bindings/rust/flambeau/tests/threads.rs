//! Handles move between threads, and modes stay behind; writes are alone.

mod place;

use std::{
    sync::{
        atomic::{AtomicBool, Ordering::SeqCst},
        Mutex,
    },
    thread,
};

use flambeau::{grad_enabled, nn, no_grad, optim::Optimizer, randn, zeros, Error, Status, Tensor};

fn is_send_and_sync<T: Send + Sync>() {}

#[test]
fn tensors_and_errors_go_anywhere() {
    is_send_and_sync::<Tensor>();
    is_send_and_sync::<Error>();
    is_send_and_sync::<flambeau::nn::Layer>();
    let x = Tensor::from((0..1000).map(|i| i as f32).collect::<Vec<_>>());
    let sums: Vec<f32> = thread::scope(|scope| {
        let workers: Vec<_> = (0..4)
            .map(|i| {
                let x = &x;
                scope.spawn(move || {
                    (0..50)
                        .map(|_| x.add(i).unwrap().sum().unwrap().item::<f32>().unwrap())
                        .max_by(f32::total_cmp)
                })
            })
            .collect();
        workers.into_iter().map(|w| w.join().unwrap().unwrap()).collect()
    });
    assert_eq!(sums, [499500.0, 500500.0, 501500.0, 502500.0]);
    let error = thread::spawn(move || x.reshape(&[7]).unwrap_err()).join().unwrap();
    assert_eq!(error.status(), Status::Shape);
}

#[test]
fn modes_are_the_threads_own() {
    no_grad(|| assert!(thread::spawn(grad_enabled).join().unwrap()));
}

#[test]
fn backward_runs_from_several_threads_on_graphs_of_their_own() {
    let workers: Vec<_> = (1..5)
        .map(|i| {
            thread::spawn(move || {
                let mut x = Tensor::from([i as f32]);
                x.set_requires_grad(true).unwrap();
                (&x * &x).backward().unwrap();
                x.grad().unwrap().unwrap().item::<f32>().unwrap()
            })
        })
        .collect();
    let gradients: Vec<f32> = workers.into_iter().map(|w| w.join().unwrap()).collect();
    assert_eq!(gradients, [2.0, 4.0, 6.0, 8.0]);
}

/// What one thread does again and again while another one reads.
fn while_another_reads(write: impl FnOnce() + Send, read: impl Fn() + Sync) {
    struct Done<'a>(&'a AtomicBool);
    impl Drop for Done<'_> {
        fn drop(&mut self) {
            self.0.store(true, SeqCst);
        }
    }
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let _done = Done(&done); // also where it panics
            write();
        });
        while !done.load(SeqCst) {
            read();
        }
    });
}

#[test]
fn no_thread_sees_half_of_a_write() {
    let t = zeros(&[1]).unwrap();
    let mut w = t.clone();
    let resize = move || {
        for i in 0..4000 {
            w.resize_(if i % 2 == 0 { &[1; 12] } else { &[1] }).unwrap();
        }
    };
    while_another_reads(resize, || assert!(t.shape().iter().all(|&d| d == 1)));

    let t = zeros(&[4096]).unwrap();
    let mut w = t.clone();
    let fill = move || {
        for i in 0..400 {
            w.fill_(i % 2).unwrap();
        }
    };
    while_another_reads(fill, || {
        let seen = t.to_vec::<f32>().unwrap();
        assert!(seen.iter().all(|x| *x == seen[0]), "a fill that was half done");
    });

    let t = zeros(&[1000]).unwrap();
    let mut w = t.clone();
    let grow = move || {
        for i in 0..200 {
            w.resize_(&[1 + i % 2 * 300_000]).unwrap();
        }
    };
    while_another_reads(grow, || match t.to_vec::<f32>() {
        Ok(elements) => assert!([1, 1000, 300_001].contains(&elements.len())),
        Err(error) => panic!("{}", error),
    });
}

#[test]
fn gradients_are_written_by_one_thread_at_a_time() {
    let mut p = zeros(&[1000]).unwrap();
    p.set_requires_grad(true).unwrap();
    let q = p.clone();
    let accumulate = move || {
        for _ in 0..200 {
            q.mul(&q).unwrap().sum().unwrap().backward().unwrap();
        }
    };
    let p = Mutex::new(p);
    while_another_reads(accumulate, || {
        let mut p = p.lock().unwrap();
        p.mul(2.0).unwrap().sum().unwrap().backward().unwrap();
        drop(p.grad().unwrap());
        p.set_grad(None).unwrap();
    });
}

#[test]
fn optimizers_step_while_models_run() {
    let model = nn::Layer::linear(8, 8).unwrap();
    let optimizer = Optimizer::sgd(&model.parameters().unwrap()).unwrap();
    let (x, y) = (randn(&[4, 8]).unwrap(), zeros(&[4, 8]).unwrap());
    let train = || {
        let mut optimizer = optimizer;
        for _ in 0..100 {
            optimizer.zero_grad().unwrap();
            model.forward(&x).unwrap().mse_loss(&y).unwrap().backward().unwrap();
            optimizer.step().unwrap();
        }
    };
    while_another_reads(train, || {
        let y = no_grad(|| model.forward(&x)).unwrap();
        assert_eq!(y.shape(), [4, 8]);
    });
}

/// Callbacks run outside of the calls that they come from: they may wait for other threads.
#[test]
fn a_hook_may_wait_for_a_thread_that_writes() {
    let mut x = Tensor::from([1.0f32, 2.0]);
    x.set_requires_grad(true).unwrap();
    let other = zeros(&[2]).unwrap();
    let theirs = other.clone();
    x.register_hook(move |_| {
        let mut theirs = theirs.clone();
        thread::spawn(move || theirs.add_(1.0).map(|_| ()).unwrap()).join().unwrap();
        Ok(None)
    })
    .unwrap();
    (&x * &x).sum().unwrap().backward().unwrap();
    assert_eq!(other.to_vec::<f32>().unwrap(), [1.0, 1.0]);
}
