//! Mixed precision: guards of autocast, and a scaler that reports what it skipped.

use flambeau::{
    amp::{autocast, autocast_dtype, autocast_enabled, GradScaler, GradScalerOptions},
    manual_seed, nn, no_grad,
    optim::{Optimizer, SgdOptions},
    randn, DeviceType, Dtype, Result, Scope, Status,
};

#[test]
fn guards_nest_and_restore() -> Result<()> {
    let (x, w) = (randn(&[2, 3])?, randn(&[3, 2])?);
    assert_eq!(x.matmul(&w)?.dtype(), Dtype::F32);
    let outer = Scope::autocast(DeviceType::Cpu, None)?;
    assert_eq!(x.matmul(&w)?.dtype(), Dtype::Bf16);
    let inner = Scope::autocast_with(DeviceType::Cpu, Some(Dtype::F16), false, true)?;
    assert_eq!(x.matmul(&w)?.dtype(), Dtype::F32);
    assert_eq!(autocast_dtype(DeviceType::Cpu), Dtype::F16);
    inner.end()?;
    assert!(autocast_enabled(DeviceType::Cpu) && !autocast_enabled(DeviceType::Cuda));
    drop(outer);
    assert!(!autocast_enabled(DeviceType::Cpu));
    let y = autocast(DeviceType::Cpu, Some(Dtype::F16), || x.matmul(&w))??;
    assert_eq!(y.dtype(), Dtype::F16);
    let refused = Scope::autocast(DeviceType::Cpu, Some(Dtype::I64)).unwrap_err();
    assert_eq!(refused.status(), Status::Dtype);
    Ok(())
}

#[test]
fn a_cast_made_without_recording_does_not_take_the_gradient() -> Result<()> {
    let mut w = randn(&[3, 2])?;
    w.set_requires_grad(true)?;
    let x = randn(&[2, 3])?;
    let loss = autocast(DeviceType::Cpu, None, || -> Result<_> {
        no_grad(|| x.matmul(&w))?;
        x.matmul(&w)?.sum()
    })??;
    loss.backward()?;
    assert_eq!(w.grad()?.expect("a gradient").dtype(), Dtype::F32);
    Ok(())
}

#[test]
fn skipped_steps_are_reported() -> Result<()> {
    manual_seed(1)?;
    let model = nn::Layer::linear(3, 2)?;
    let params = model.parameters()?;
    let mut optimizer = Optimizer::sgd_with(&params, SgdOptions::default().lr(0.5))?;
    let mut scaler =
        GradScaler::new_with(GradScalerOptions::default().init_scale(8.0).growth_interval(1))?;
    let x = randn(&[4, 3])?;
    for (factor, skipped, first, scale) in [(f64::INFINITY, true, 0, 4.0), (1.0, false, -1, 8.0)] {
        let before = no_grad(|| params[1].deep_clone())?;
        optimizer.zero_grad()?;
        let loss = model.forward(&x)?.sum()?.mul(factor)?;
        scaler.scale(&loss)?.backward()?;
        scaler.step(&optimizer)?;
        scaler.update()?;
        assert_eq!(scaler.skipped(&optimizer)?, (skipped, first));
        assert_eq!(scaler.get_scale()?, scale);
        assert_eq!(params[1].equal(&before)?, skipped);
    }
    Ok(())
}
