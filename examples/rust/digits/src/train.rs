//! The data, training and scoring.

use flambeau::{
    data::{Dataset, Loader, LoaderOptions},
    nn::Layer,
    no_grad,
    optim::{AdamwOptions, Optimizer, Scheduler},
    options::{CreationOptions, CrossEntropyOptions, DimOptions, ToOptions},
    tools::{Plot, PlotPanelOptions, Progress, ProgressOptions},
    Device, DeviceType, Dtype, Result, State, Tensor,
};

use crate::options::Options;

/// Of labels while training: worth a percent of accuracy on so few images.
const SMOOTHING: f64 = 0.1;

/// Images, f32 `[n, 1, 8, 8]` from 0 to 1, and what they show, i64 `[n]`.
pub struct Digits {
    images: Tensor,
    labels: Tensor,
}

impl Digits {
    pub fn read(data: &State, part: &str) -> Result<Digits> {
        let images = data
            .get(&format!("{}.images", part))?
            .to_dtype(Dtype::F32)?
            .div(240)?;
        let labels = data
            .get(&format!("{}.labels", part))?
            .to_dtype(Dtype::I64)?;
        Ok(Digits { images, labels })
    }

    pub fn len(&self) -> i64 {
        self.labels.numel()
    }

    pub fn to_device(&self, device: Device) -> Result<Digits> {
        let to = |t: &Tensor| {
            let device = Some(device);
            t.to_with(ToOptions::default().device(device).non_blocking(true))
        };
        Ok(Digits {
            images: to(&self.images)?,
            labels: to(&self.labels)?,
        })
    }
}

pub struct Score {
    pub logits: Tensor,
    pub loss: f64,
    pub accuracy: f64,
}

fn loss_of(logits: &Tensor, labels: &Tensor) -> Result<Tensor> {
    let options = CrossEntropyOptions::default().label_smoothing(SMOOTHING);
    logits.cross_entropy_with(labels, None, options)
}

pub fn evaluate(model: &mut Layer, held_out: &Digits) -> Result<Score> {
    model.eval()?;
    no_grad(|| {
        let logits = model.forward(&held_out.images)?;
        let right = logits
            .argmax_with(DimOptions::default().dim(1))?
            .eq(&held_out.labels)?
            .sum()?;
        let accuracy = 100.0 * right.item_f64()? / held_out.len() as f64;
        Ok(Score {
            loss: loss_of(&logits, &held_out.labels)?.item_f64()?,
            logits,
            accuracy,
        })
    })
}

fn shuffled(learn: &Digits, device: Device, options: &Options) -> Result<Loader> {
    let dataset = Dataset::from_tensors(&[&learn.images, &learn.labels])?;
    let how = LoaderOptions::default()
        .batch_size(options.batch_size)
        .shuffle(true)
        .num_workers(options.workers)
        .pin_memory(device.type_of() != DeviceType::Cpu)
        .seed(options.seed);
    Loader::new_with(&dataset, how)
}

/// Values per epoch.
#[derive(Default)]
pub struct Curves {
    losses: Vec<f64>,
    held_out: Vec<f64>,
    accuracy: Vec<f64>,
}

impl Curves {
    /// Draws them as SVG.
    pub fn write(&self, form: &str, path: &str) -> Result<()> {
        let last = self.accuracy.last().copied().unwrap_or_default();
        let title = format!("Handwritten digits, {}: {:.1} % correct", form, last);
        let mut plot = Plot::new_with(Some(&title))?;
        let epochs = PlotPanelOptions::default().x_label("epoch");
        plot.panel_with("Cross-entropy", epochs)?;
        plot.line("training", &self.losses)?;
        plot.line("held out", &self.held_out)?;
        let percent = PlotPanelOptions::default().x_label("epoch").unit(" %");
        plot.panel_with("Accuracy", percent)?;
        plot.line("held out", &self.accuracy)?;
        plot.write(path)
    }
}

pub fn train(
    model: &mut Layer,
    learn: &Digits,
    held_out: &Digits,
    device: Device,
    options: &Options,
) -> Result<Curves> {
    let mut loader = shuffled(learn, device, options)?;
    let how = AdamwOptions::default().lr(options.lr);
    let mut optimizer = Optimizer::adamw_with(&model.parameters()?, how)?;
    let mut scheduler = Scheduler::cosine_annealing_lr(&optimizer, options.epochs)?;
    let mut progress = Progress::new_with(
        ProgressOptions::default()
            .total(options.epochs * learn.len())
            .unit("images"),
    )?;
    progress.to_text(1)?;
    progress.watch(device)?;
    let mut curves = Curves::default();
    for epoch in 1..=options.epochs {
        model.train()?;
        let place = CreationOptions::default().device(device);
        let mut total = flambeau::zeros_with(&[], place)?;
        for batch in &mut loader {
            let mut batch = batch?.into_iter();
            let (images, labels) = (batch.next().expect("images"), batch.next().expect("labels"));
            let batch = Digits { images, labels }.to_device(device)?;
            let loss = loss_of(&model.forward(&batch.images)?, &batch.labels)?;
            optimizer.zero_grad()?;
            loss.backward()?;
            optimizer.step()?;
            // Stays on the device: a step never waits for it.
            total.add_(loss.detach()?.mul(batch.len())?)?;
            if progress.advance_with(batch.len()) {
                progress.set("loss", loss.item_f64()?)?; // only then it is waited for
                progress.draw()?;
            }
        }
        scheduler.step()?;
        let score = evaluate(model, held_out)?;
        let mean = total.item_f64()? / learn.len() as f64;
        curves.losses.push(mean);
        curves.held_out.push(score.loss);
        curves.accuracy.push(score.accuracy);
        if epoch == 1 || epoch % (options.epochs / 10).max(1) == 0 {
            progress.say(&format!(
                "epoch {:3}/{}   loss {:.4}   held out {:.4}   accuracy {:5.1} %",
                epoch, options.epochs, mean, score.loss, score.accuracy
            ))?;
        }
    }
    progress.finish()?;
    let (done, took) = (progress.done(), progress.elapsed());
    progress.say(&format!(
        "\ntrained  {} images, {:.0} per second, in {:.1} s",
        done,
        done as f64 / took,
        took
    ))?;
    Ok(curves)
}
