//! What the command line may say.

use std::{env, fmt::Display, str::FromStr};

pub const USAGE: &str = "\
usage: chars [--text FILE] [--epochs N] [--batch-size N] [--lr X] [--save FILE]
             [--weights FILE] [--prompt TEXT] [--length N] [--temperature X]
             [--device NAME] [--seed N]";

pub struct Options {
    pub text: String,
    pub device: String,
    pub weights: Option<String>,
    pub save: String,
    pub prompt: Option<String>,
    pub epochs: i64,
    pub batch_size: i64,
    pub seed: u64,
    pub length: u32,
    pub lr: f64,
    pub temperature: f64,
}

/// A number, checked before anything is trained.
fn at_least<T>(least: T, name: &str, text: String) -> Result<T, String>
where
    T: FromStr + PartialOrd + Display,
    T::Err: Display,
{
    let value = text
        .parse()
        .map_err(|problem| format!("{} {}: {}", name, text, problem))?;
    if value < least {
        return Err(format!("{} {}: is less than {}", name, value, least));
    }
    Ok(value)
}

impl Options {
    /// What was asked for; nothing where that is help.
    pub fn from_arguments() -> Result<Option<Options>, String> {
        let mut o = Options {
            text: "README.md".to_owned(),
            device: "auto".to_owned(),
            weights: None,
            save: "build/chars.safetensors".to_owned(),
            prompt: None,
            epochs: 30,
            batch_size: 16,
            seed: 0,
            length: 400,
            lr: 5e-3,
            temperature: 0.7,
        };
        let mut words = env::args().skip(1);
        while let Some(name) = words.next() {
            if name == "--help" || name == "-h" {
                return Ok(None);
            }
            let value = words
                .next()
                .ok_or(format!("{} is unknown or needs a value", name))?;
            match name.as_str() {
                "--text" => o.text = value,
                "--device" => o.device = value,
                "--weights" => o.weights = Some(value),
                "--save" => o.save = value,
                "--prompt" => o.prompt = Some(value),
                "--epochs" => o.epochs = at_least(1, &name, value)?,
                "--batch-size" => o.batch_size = at_least(1, &name, value)?,
                "--seed" => o.seed = at_least(0, &name, value)?,
                "--length" => o.length = at_least(0, &name, value)?,
                "--lr" => o.lr = at_least(0.0, &name, value)?,
                "--temperature" => o.temperature = at_least(0.0, &name, value)?,
                _ => return Err(format!("{} is unknown", name)),
            }
        }
        if o.prompt.as_deref() == Some("") {
            return Err("--prompt must not be empty".to_owned());
        }
        Ok(Some(o))
    }
}
