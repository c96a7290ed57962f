//! Trains a classifier of handwritten digits, scores it on held-out images, and saves its weights:
//! the Rust form of `examples/python/digits.py`, with the same data, model, optimizer and report.
//!
//! It looks for the data where the repository's root is the current directory; `--data` names it
//! elsewhere. `FLAMBEAU_SIM=devices=1,as=cuda` lets it take its GPU path on a laptop.

mod model;
mod options;
mod train;

use std::{fs, path::Path, process::ExitCode, time::Instant};

use flambeau::{
    cuda_is_available, cuda_unavailable_reason, get_num_threads, load, manual_seed, memory, save,
    set_num_threads, version, Device, DeviceType, Result, Tensor,
};

use options::Options;
use train::{evaluate, Digits};

fn main() -> ExitCode {
    let options = match Options::from_arguments() {
        Ok(Some(options)) => options,
        Ok(None) => {
            println!("{}", options::USAGE);
            return ExitCode::SUCCESS;
        }
        Err(problem) => {
            eprintln!("digits: {}\n{}", problem, options::USAGE);
            return ExitCode::from(2);
        }
    };
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}", error);
            ExitCode::FAILURE
        }
    }
}

/// The device asked for, or a GPU if there is one.
fn choose_device(name: &str) -> Result<Device> {
    let device = match name {
        "auto" if cuda_is_available() => Device::cuda(0),
        "auto" => Device::cpu(),
        name => name.parse()?,
    };
    if device.type_of() == DeviceType::Cuda {
        println!("device   {} ({})", device, device.model());
        return Ok(device);
    }
    if name != "auto" {
        println!("device   {}", device);
        return Ok(device);
    }
    let (threads, reason) = (get_num_threads(), cuda_unavailable_reason());
    println!("device   cpu ({} threads; no GPU: {})", threads, reason);
    Ok(device)
}

fn write_logits(logits: &Tensor, path: &str) -> Result<()> {
    let bytes = logits
        .to_vec::<f32>()?
        .into_iter()
        .flat_map(f32::to_le_bytes);
    Ok(fs::write(path, bytes.collect::<Vec<u8>>())?)
}

fn run(options: &Options) -> Result<()> {
    flambeau::open_library()?;
    if let Some(threads) = options.threads {
        set_num_threads(threads)?;
    }
    manual_seed(options.seed)?;
    let v = version();
    println!("flambeau {}.{}.{}   digits", v >> 16, v >> 8 & 255, v & 255);
    let device = choose_device(&options.device)?;
    let data = load(&options.data)?;
    let learn = Digits::read(&data, "train")?;
    let held_out = Digits::read(&data, "test")?.to_device(device)?;
    let mut model = if options.conv {
        model::conv(device)?
    } else {
        model::mlp(device)?
    };
    let form = if options.conv { "conv" } else { "mlp" };
    println!("model    {}, {} parameters", form, model.numel());
    println!(
        "data     {} images to learn from, {} held out\n",
        learn.len(),
        held_out.len()
    );

    if let Some(weights) = &options.weights {
        model.load_state_dict(&load(weights)?)?;
    } else {
        let curves = train::train(&mut model, &learn, &held_out, device, options)?;
        let path = options
            .save
            .clone()
            .unwrap_or(format!("build/digits-{}.safetensors", form));
        if let Some(folder) = Path::new(&path).parent() {
            fs::create_dir_all(folder)?;
        }
        save(&model.state_dict()?, &path)?;
        println!("saved    {}", path);
        if let Some(path) = &options.plot {
            curves.write(form, path)?;
            println!("plotted  {}", path);
        }
    }

    let begun = Instant::now();
    let score = evaluate(&mut model, &held_out)?;
    let took = begun.elapsed().as_secs_f64();
    println!(
        "scored   {} held-out images in {:.1} ms",
        held_out.len(),
        1e3 * took
    );
    if let Some(path) = &options.logits {
        write_logits(&score.logits, path)?;
    }
    println!(
        "\nheld-out accuracy {:.2} %   loss {:.6}\n",
        score.accuracy, score.loss
    );
    println!("{}", memory::summary_with(device, true));
    Ok(())
}
