//! What errors suggest in Rust's words compiles: each row of the engine's tables is a line here.
#![allow(dead_code, path_statements, unused_must_use, clippy::no_effect)]

use std::{collections::BTreeSet, fs, path::Path};

use flambeau::{
    amp::GradScaler,
    autograd::{backward_with, BackwardOptions},
    nn::Layer,
    optim::Optimizer,
    options::FlattenOptions,
    Device, DeviceType, Dtype, Result, Scope, Tensor,
};

// Variables stand for what a row leaves open: `x` for `$x`, and `a`, of the type that fits, for
// `$a`.

fn of_dtypes(x: &Tensor, a: Dtype) -> Result<()> {
    x.to_dtype(a)?;
    x.to_dtype(Dtype::F64)?;
    Ok(())
}

fn of_devices(x: &Tensor, model: &mut Layer, a: Device) -> Result<()> {
    x.to_device(a)?;
    model.to_device(a)?;
    Ok(())
}

fn of_dimensions(x: &mut Tensor, a: i64) -> Result<()> {
    a;
    x.flatten_with(FlattenOptions::default().start_dim(a))?;
    x.resize_(&[a])?;
    x.squeeze_with(Some(&[a]))?;
    Ok(())
}

fn methods() {
    Tensor::backward;
    Tensor::contiguous;
    Tensor::deep_clone;
    Tensor::detach;
    Tensor::reshape;
}

fn of_training(x: &Tensor, device_type: DeviceType) -> Result<()> {
    Scope::no_grad();
    Scope::autocast_with(device_type, None, false, true)?;
    backward_with(&[x], BackwardOptions::default().retain_graph(true))?;
    Ok(())
}

fn of_objects(
    x: &Layer,
    scaler: &mut GradScaler,
    optimizer: Optimizer,
    loss: Tensor,
) -> Result<()> {
    x.state_dict()?;
    scaler.scale(&loss)?;
    scaler.step(&optimizer)?;
    Ok(())
}

fn dtypes(dtype: Dtype) {
    Dtype::F32;
    Dtype::F64;
    Dtype::F16;
    Dtype::Bf16;
    Dtype::I64;
    Dtype::I32;
    Dtype::I16;
    Dtype::I8;
    Dtype::U8;
    Dtype::Bool;
    Dtype::C64;
    Dtype::C128;
    dtype;
}

/// A row's text as lines of code: two where the argument chooses the method, none of words around
/// a value.
fn lines_of(text: &str) -> Vec<String> {
    const WORDS: [&str; 9] = ["=", "be", "false", "got", "is", "None", "not", "true", "was"];
    if text.split_whitespace().all(|word| WORDS.contains(&word)) {
        return Vec::new();
    }
    let is_name = |name: &str| name.chars().all(|c| c.is_alphanumeric() || c == '_');
    if let Some(name) = text.strip_suffix("()").filter(|name| is_name(name)) {
        return vec![format!("Tensor::{name};")];
    }
    let text = text.replace("$x", "x").replace("$a", "a");
    let methods = if text.contains("$to") { &["to_dtype", "to_device"][..] } else { &[""] };
    methods.iter().map(|method| text.replace("$to", method) + ";").collect()
}

#[test]
fn what_errors_suggest_compiles() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let engine = fs::read_to_string(root.join("../../../lib/base/wording.cc")).unwrap();
    let tables = engine.split("kCalls[] =").nth(1).unwrap().split("\n\n// What").next().unwrap();
    // A text of several literals, one a line, is one.
    let joined = tables.split("\"\n").map(|part| part.trim_start().trim_start_matches('"'));
    let tables = joined.collect::<String>();
    let texts: Vec<_> = tables.split('"').skip(1).step_by(2).collect();
    let said: BTreeSet<_> = texts.chunks(3).flat_map(|row| lines_of(row[2])).collect();
    assert!(said.len() > 20, "{said:?}");
    let here = include_str!("suggested.rs").split("/// A row's").next().unwrap();
    let compiled: BTreeSet<_> = here
        .lines()
        .filter_map(|line| line.strip_prefix("    ").filter(|line| line.ends_with(';')))
        .map(str::to_owned)
        .collect();
    assert_eq!(said, compiled);
}
