//! Handles move between threads, and modes stay behind.

use std::thread;

use flambeau::{grad_enabled, no_grad, Error, Status, Tensor};

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
                    (0..50).map(|_| x.add(i).unwrap().sum().unwrap().item::<f32>().unwrap()).last()
                })
            })
            .collect();
        workers.into_iter().map(|w| w.join().unwrap().unwrap()).collect()
    });
    assert_eq!(sums, [499500.0, 500500.0, 501500.0, 502500.0]);
    let error = thread::spawn(move || x.reshape(&[7]).unwrap_err()).join().unwrap();
    assert_eq!(error.status(), Status::SHAPE);
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
