//! Handwritten digits on several processes: each computes the gradients of its share of every
//! batch, and all of them go the same way, which is that of one process with whole batches. The
//! Rust form of `examples/c/ddp.c`, which prints the same.
//!
//! In the repository's root:
//!
//! ```sh
//! cargo build --release --manifest-path examples/rust/ddp/Cargo.toml --target-dir build/rust
//! export FLAMBEAU_LIBRARY=build/libflambeau.so.0
//! .venv/bin/flambeau-run --no-python --nproc-per-node 2 build/rust/release/ddp
//! ```
//!
//! Started without a launcher it is the only one. Elsewhere the data is the program's argument.

use std::{env, process::ExitCode};

use flambeau::{
    distributed::{Ddp, Group, Store},
    load, manual_seed,
    nn::{sequential, Layer},
    no_grad,
    optim::Optimizer,
    options::DimOptions,
    zeros, Dtype, Error, Result, State, Status, Tensor,
};

const DATA: &str = "examples/data/digits.safetensors";
const EPOCHS: usize = 10;
const BATCH: i64 = 64;

/// Images, f32 `[n, 1, 8, 8]` from 0 to 1, and what they show, i64 `[n]`.
struct Digits {
    images: Tensor,
    labels: Tensor,
}

impl Digits {
    fn read(data: &State, part: &str) -> Result<Digits> {
        let of = |what: &str, dtype| data.get(&format!("{}.{}", part, what))?.to_dtype(dtype);
        Ok(Digits {
            images: of("images", Dtype::F32)?.div(240)?,
            labels: of("labels", Dtype::I64)?,
        })
    }

    fn len(&self) -> i64 {
        self.labels.numel()
    }

    fn part(&self, at: i64, n: i64) -> Result<Digits> {
        Ok(Digits {
            images: self.images.narrow(0, at, n)?,
            labels: self.labels.narrow(0, at, n)?,
        })
    }
}

fn mlp() -> Result<Layer> {
    sequential([
        Layer::flatten()?,
        Layer::linear(64, 256)?,
        Layer::relu()?,
        Layer::linear(256, 10)?,
    ])
}

/// The processes that a launcher has started, or this one alone.
fn join() -> Result<Group> {
    match env::var_os("RANK") {
        Some(_) => Group::init("env://"),
        None => Group::new(&Store::hash()?, 0, 1),
    }
}

/// How many images of each batch are this process's.
fn share_of(group: &Group) -> Result<i64> {
    if BATCH % group.size() == 0 {
        return Ok(BATCH / group.size());
    }
    let problem = format!(
        "the number of processes must divide a batch of {} images",
        BATCH
    );
    Err(Error::new(Status::InvalidArgument, &problem))
}

fn train(group: &Group, model: &Layer, learn: &Digits) -> Result<()> {
    let share = share_of(group)?;
    let mut ddp = Ddp::new(group, model)?; // all begin with rank 0's weights
    let mut optimizer = Optimizer::adamw(&model.parameters()?)?;
    let batches = learn.len() / BATCH;
    for epoch in 1..=EPOCHS {
        let mut total = zeros(&[])?;
        for batch in 0..batches {
            let mine = learn.part(batch * BATCH + group.rank() * share, share)?;
            optimizer.zero_grad()?;
            let logits = ddp.forward(|| model.forward(&mine.images))?;
            let loss = logits.cross_entropy(&mine.labels)?;
            loss.backward()?;
            optimizer.step()?;
            total.add_(loss.detach()?)?;
        }
        group.all_reduce(&[&total])?; // of a loss each rank has its share
        let mean = total.item_f64()? / (batches * group.size()) as f64;
        if group.rank() == 0 {
            println!("epoch {:2}/{}   loss {:.3}", epoch, EPOCHS, mean);
        }
    }
    Ok(())
}

/// Per cent of the images that the model recognizes.
fn accuracy(model: &Layer, held_out: &Digits) -> Result<f64> {
    no_grad(|| {
        let guess = model
            .forward(&held_out.images)?
            .argmax_with(DimOptions::default().dim(1))?;
        let right = guess.eq(&held_out.labels)?.sum()?.item_f64()?;
        Ok(100.0 * right / held_out.len() as f64)
    })
}

fn run(path: &str) -> Result<()> {
    flambeau::open_library()?;
    let group = join()?;
    let data = load(path)?;
    manual_seed(0)?;
    let model = mlp()?;
    train(&group, &model, &Digits::read(&data, "train")?)?;
    if group.rank() == 0 {
        println!(
            "{} process{}: {:.1} % of the digits that were held out are right",
            group.size(),
            if group.size() == 1 { "" } else { "es" },
            accuracy(&model, &Digits::read(&data, "test")?)?
        );
    }
    group.leave()
}

fn main() -> ExitCode {
    let path = env::args().nth(1).unwrap_or_else(|| DATA.to_owned());
    match run(&path) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ddp: {}", error);
            ExitCode::FAILURE
        }
    }
}
