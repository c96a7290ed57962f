//! Learns to write, one character after the other, from a text file; saves what it learned, reads
//! it back into a new model, and writes: the Rust form of `examples/c/chars.c`, which reads the
//! same weights. The model is an LSTM of two layers; a character is a byte. It learns from
//! README.md where the repository's root is the current directory, else from `--text`.

mod model;
mod options;
mod train;
mod write;

use std::{fs, path::Path, process::ExitCode};

use flambeau::{cuda_is_available, load, manual_seed, save, Device, Error, Result, Status};

use model::Chars;
use options::Options;

fn main() -> ExitCode {
    let options = match Options::from_arguments() {
        Ok(Some(options)) => options,
        Ok(None) => {
            println!("{}", options::USAGE);
            return ExitCode::SUCCESS;
        }
        Err(problem) => {
            eprintln!("chars: {}\n{}", problem, options::USAGE);
            return ExitCode::from(2);
        }
    };
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("chars: {}", error);
            ExitCode::FAILURE
        }
    }
}

/// The device asked for, or a GPU if there is one.
fn choose_device(name: &str) -> Result<Device> {
    match name {
        "auto" if cuda_is_available() => Ok(Device::cuda(0)),
        "auto" => Ok(Device::cpu()),
        name => name.parse(),
    }
}

fn learn(options: &Options, device: Device) -> Result<()> {
    let text = fs::read(&options.text)
        .map_err(|e| Error::new(Status::Io, format!("{}: {}", options.text, e)))?;
    let vocabulary = model::vocabulary_of(&text)?;
    let model = Chars::new(&vocabulary, device)?;
    println!(
        "text     {}, {} bytes, {} different",
        options.text,
        text.len(),
        vocabulary.numel()
    );
    println!("model    LSTM, {} parameters\n", model.layers.numel());
    // What it cannot continue is said before it learns.
    model::encode(&write::prompt(options, &vocabulary.to_vec()?), &vocabulary)?;
    train::train(&model, &text, &vocabulary, device, options)?;
    if let Some(folder) = Path::new(&options.save).parent() {
        fs::create_dir_all(folder)?;
    }
    save(&model.layers.state_dict()?, &options.save)?;
    println!("saved    {}", options.save);
    Ok(())
}

fn run(options: &Options) -> Result<()> {
    flambeau::open_library()?;
    manual_seed(options.seed)?;
    let device = choose_device(&options.device)?;
    println!("device   {}", device);
    if options.weights.is_none() {
        learn(options, device)?;
    }
    let path = options.weights.as_ref().unwrap_or(&options.save);
    println!();
    let model = Chars::from_state(&load(path)?, device)?;
    println!(
        "{}",
        String::from_utf8_lossy(&write::text(model, device, options)?)
    );
    Ok(())
}
