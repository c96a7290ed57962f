//! What the command line may say.

use std::{env, fmt::Display, str::FromStr};

pub const USAGE: &str = "\
usage: digits [--conv] [--device NAME] [--epochs N] [--batch-size N] [--lr X] [--seed N]
              [--threads N] [--workers N] [--data FILE] [--weights FILE] [--save FILE]
              [--logits FILE] [--plot FILE]";

pub struct Options {
    pub conv: bool,
    pub device: String,
    pub epochs: i64,
    pub batch_size: i64,
    pub lr: f64,
    pub seed: u64,
    pub threads: Option<i32>,
    pub workers: i64,
    pub data: String,
    pub weights: Option<String>,
    pub save: Option<String>,
    pub logits: Option<String>,
    pub plot: Option<String>,
}

fn number<T>(name: &str, text: String) -> Result<T, String>
where
    T: FromStr,
    T::Err: Display,
{
    text.parse()
        .map_err(|problem| format!("{} {}: {}", name, text, problem))
}

/// A whole number, checked before anything is trained.
fn at_least<T>(least: T, name: &str, text: String) -> Result<T, String>
where
    T: FromStr + PartialOrd + Display,
    T::Err: Display,
{
    let value = number(name, text)?;
    if value < least {
        return Err(format!("{} {}: is less than {}", name, value, least));
    }
    Ok(value)
}

impl Options {
    /// What was asked for; nothing where that is help.
    pub fn from_arguments() -> Result<Option<Options>, String> {
        let mut o = Options {
            conv: false,
            device: "auto".to_owned(),
            epochs: 30,
            batch_size: 32,
            lr: 3e-3,
            seed: 0,
            threads: None,
            workers: 2,
            data: "examples/data/digits.safetensors".to_owned(),
            weights: None,
            save: None,
            logits: None,
            plot: None,
        };
        let mut words = env::args().skip(1);
        while let Some(name) = words.next() {
            if name == "--conv" {
                o.conv = true;
                continue;
            }
            if name == "--help" || name == "-h" {
                return Ok(None);
            }
            let value = words
                .next()
                .ok_or(format!("{} is unknown or needs a value", name))?;
            match name.as_str() {
                "--device" => o.device = value,
                "--epochs" => o.epochs = at_least(1, &name, value)?,
                "--batch-size" => o.batch_size = at_least(1, &name, value)?,
                "--lr" => o.lr = number(&name, value)?,
                "--seed" => o.seed = number(&name, value)?,
                "--threads" => o.threads = Some(at_least(1, &name, value)?),
                "--workers" => o.workers = at_least(0, &name, value)?,
                "--data" => o.data = value,
                "--weights" => o.weights = Some(value),
                "--save" => o.save = Some(value),
                "--logits" => o.logits = Some(value),
                "--plot" => o.plot = Some(value),
                _ => return Err(format!("{} is unknown", name)),
            }
        }
        Ok(Some(o))
    }
}
