//! Every optimizer lowers a loss, L-BFGS finds a minimum, schedules give PyTorch's rates, state
//! goes away and comes back.

mod place;

use flambeau::{
    optim::{
        AdamOptions, LbfgsOptions, LinearLrOptions, OneCycleLrOptions, Optimizer, RmspropOptions,
        Scheduler,
    },
    Result, Tensor,
};

fn parameter(values: [f64; 2]) -> Tensor {
    let mut t = Tensor::from(values);
    t.set_requires_grad(true).unwrap();
    t
}

/// Rosenbrock's valley: 0 at (1, 1).
fn valley(p: &Tensor) -> Result<Tensor> {
    let (x, y) = (p.select(0, 0)?, p.select(0, 1)?);
    let bend = y.sub(&x.mul(&x)?)?;
    let rest = x.sub(1.0)?;
    bend.mul(&bend)?.mul(100.0)?.add(&rest.mul(&rest)?)
}

fn loss_and_gradients(p: &mut Tensor) -> Result<f64> {
    p.set_grad(None)?;
    let loss = valley(p)?;
    loss.backward()?;
    loss.item()
}

#[test]
fn every_rule_lowers_a_loss() {
    let makers: [fn(&[Tensor]) -> Result<Optimizer>; 11] = [
        |p| Optimizer::sgd(p),
        |p| Optimizer::adam(p),
        |p| Optimizer::adamw(p),
        |p| Optimizer::rmsprop(p),
        |p| Optimizer::adagrad(p),
        |p| Optimizer::adamax(p),
        |p| Optimizer::nadam(p),
        |p| Optimizer::radam(p),
        |p| Optimizer::rprop(p),
        |p| Optimizer::adadelta(p),
        |p| Optimizer::adafactor(p),
    ];
    for (i, make) in makers.iter().enumerate() {
        let mut p = parameter([-1.2, 1.0]);
        let mut optimizer = make(&[p.clone()]).unwrap();
        let first = loss_and_gradients(&mut p).unwrap();
        for _ in 0..20 {
            optimizer.step_closure(|| loss_and_gradients(&mut p)).unwrap();
        }
        assert!(loss_and_gradients(&mut p).unwrap() < first, "rule {}", i);
    }
}

#[test]
fn lbfgs_finds_the_minimum() {
    let mut p = parameter([-1.2, 1.0]);
    let options = LbfgsOptions::default().max_iter(100).strong_wolfe(true);
    let mut optimizer = Optimizer::lbfgs_with(&[p.clone()], options).unwrap();
    let first = optimizer.step_closure(|| loss_and_gradients(&mut p)).unwrap();
    assert!(first > 24.0);
    assert!(loss_and_gradients(&mut p).unwrap() < 1e-8);
    assert!(optimizer.step().unwrap_err().message().contains("closure"));
}

#[test]
fn a_failing_closure_is_the_steps_error() {
    let p = parameter([0.0, 0.0]);
    let mut optimizer = Optimizer::rmsprop(&[p]).unwrap();
    let error = optimizer.step_closure(|| panic!("no loss today")).unwrap_err();
    assert!(error.message().contains("no loss today"), "{}", error);
}

#[test]
fn options_by_name() {
    let options = RmspropOptions::default().alpha(0.5).momentum(0.25);
    let mut optimizer = Optimizer::rmsprop_with(&[parameter([0.0, 0.0])], options).unwrap();
    assert_eq!(optimizer.option("alpha").unwrap(), 0.5);
    assert!(optimizer.option("beta1").unwrap_err().message().contains("no option \"beta1\""));
    optimizer.set_option("momentum", 0.75).unwrap();
    assert_eq!(optimizer.option("momentum").unwrap(), 0.75);
    assert!(optimizer.set_option("momentum", -1.0).is_err());
}

#[test]
fn schedules_set_rates() {
    let options = AdamOptions::default().lr(0.5);
    let optimizer = Optimizer::adam_with(&[parameter([0.0, 0.0])], options).unwrap();
    let mut halves =
        Scheduler::lambda_lr(&optimizer, |epoch, _| 0.5f64.powi(epoch as i32)).unwrap();
    halves.step().unwrap();
    assert_eq!(optimizer.lr(), 0.25);
    let mut falls = Scheduler::multiplicative_lr(&optimizer, |_, _| 0.5).unwrap();
    falls.step().unwrap();
    assert_eq!(optimizer.lr(), 0.125);

    let optimizer =
        Optimizer::adam_with(&[parameter([0.0, 0.0])], AdamOptions::default().lr(1.0)).unwrap();
    let rise = LinearLrOptions::default().start_factor(0.5).total_iters(2);
    let warm = Scheduler::linear_lr_with(&optimizer, rise).unwrap();
    let fall = Scheduler::exponential_lr(&optimizer, 0.1).unwrap();
    let mut sequence = Scheduler::sequential_lr(&warm).unwrap();
    sequence.append_with(&fall, 2).unwrap();
    let mut rates = vec![optimizer.lr()];
    for _ in 0..3 {
        sequence.step().unwrap();
        rates.push(sequence.last_lr());
    }
    assert_eq!(rates, [0.5, 0.75, 1.0, 0.1]);
}

#[test]
fn one_cycle_moves_beta1_and_ends() {
    let optimizer = Optimizer::adam(&[parameter([0.0, 0.0])]).unwrap();
    let options = OneCycleLrOptions::default().pct_start(0.5);
    let mut cycle = Scheduler::one_cycle_lr_with(&optimizer, 1.0, 10, options).unwrap();
    // 1 / 25, as the cosine from it to 1 rounds it, here and in PyTorch.
    assert_eq!((optimizer.lr(), optimizer.option("beta1").unwrap()), (1.0 - 0.96, 0.95));
    for _ in 0..4 {
        cycle.step().unwrap();
    }
    assert_eq!((optimizer.lr(), optimizer.option("beta1").unwrap()), (1.0, 0.85));
    for _ in 0..6 {
        cycle.step().unwrap();
    }
    assert!(cycle.step().unwrap_err().message().contains("Tried to step 11 times"));
}

#[test]
fn state_goes_away_and_comes_back() {
    let step = |optimizer: &mut Optimizer, p: &mut Tensor, n: usize| {
        for _ in 0..n {
            optimizer.step_closure(|| loss_and_gradients(p)).unwrap();
        }
    };
    for strong in [false, true] {
        let make = |p: &Tensor| {
            if strong {
                let options = LbfgsOptions::default().max_iter(3).strong_wolfe(true);
                Optimizer::lbfgs_with(&[p.clone()], options).unwrap()
            } else {
                Optimizer::nadam(&[p.clone()]).unwrap()
            }
        };
        let mut p = parameter([-1.2, 1.0]);
        let mut first = make(&p);
        step(&mut first, &mut p, 3);
        let values = p.to_vec::<f64>().unwrap();
        let mut q = parameter([values[0], values[1]]);
        let mut second = make(&q);
        first.set_option("lr", 0.5).unwrap();
        second.load_state_dict(&first.state_dict().unwrap()).unwrap();
        assert_eq!(second.lr(), 0.5);
        step(&mut first, &mut p, 3);
        step(&mut second, &mut q, 3);
        assert_eq!(p.to_vec::<f64>().unwrap(), q.to_vec::<f64>().unwrap());
    }
}
