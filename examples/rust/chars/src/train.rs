//! Training on windows of the text.

use flambeau::{
    data::{Dataset, Loader, LoaderOptions},
    optim::{clip_grad_norm_, AdamwOptions, Optimizer},
    options::{CreationOptions, FlattenOptions},
    tools::{Progress, ProgressOptions},
    Device, Error, Result, Status, Tensor,
};

use crate::{
    model::{encode, Chars},
    options::Options,
};

const WINDOW: i64 = 64;

/// Windows of the text, and the same windows one character later: i64 `[n, WINDOW]`.
fn windows(text: &[u8], vocabulary: &Tensor, options: &Options) -> Result<Loader> {
    if (text.len() as i64) < 2 * WINDOW {
        let problem = format!("{}: is too short to learn from", options.text);
        return Err(Error::new(Status::InvalidArgument, &problem));
    }
    let codes = encode(text, vocabulary)?;
    let n = (text.len() as i64 - 1) / WINDOW;
    let window = |start| codes.narrow(0, start, n * WINDOW)?.reshape(&[-1, WINDOW]);
    let dataset = Dataset::from_tensors(&[&window(0)?, &window(1)?])?;
    let how = LoaderOptions::default()
        .batch_size(options.batch_size)
        .shuffle(true)
        .seed(options.seed);
    Loader::new_with(&dataset, how)
}

pub fn train(
    model: &Chars,
    text: &[u8],
    vocabulary: &Tensor,
    device: Device,
    options: &Options,
) -> Result<()> {
    let mut loader = windows(text, vocabulary, options)?;
    let steps = loader.size();
    let how = AdamwOptions::default().lr(options.lr);
    let parameters = model.layers.parameters()?;
    let mut optimizer = Optimizer::adamw_with(&parameters, how)?;
    let mut progress = Progress::new_with(
        ProgressOptions::default()
            .total(steps * options.epochs)
            .unit("steps"),
    )?;
    progress.to_text(1)?;
    for epoch in 1..=options.epochs {
        let place = CreationOptions::default().device(device);
        let mut total = flambeau::zeros_with(&[], place)?;
        for batch in &mut loader {
            let batch = batch?;
            let logits = model.layers.forward(&batch[0].to_device(device)?)?;
            let wanted = batch[1].to_device(device)?.reshape(&[-1])?;
            let loss = logits
                .flatten_with(FlattenOptions::default().start_dim(0).end_dim(1))?
                .cross_entropy(&wanted)?;
            optimizer.zero_grad()?;
            loss.backward()?;
            clip_grad_norm_(&parameters, 1.0)?;
            optimizer.step()?;
            total.add_(loss.detach()?)?; // stays on the device: a step never waits for it
            if progress.advance() {
                progress.draw()?;
            }
        }
        if epoch == 1 || epoch % (options.epochs / 10).max(1) == 0 {
            progress.say(&format!(
                "epoch {:3}/{}   loss {:.4}",
                epoch,
                options.epochs,
                total.item_f64()? / steps as f64
            ))?;
        }
    }
    progress.finish()
}
