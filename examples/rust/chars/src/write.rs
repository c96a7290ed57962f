//! Writing, one character after the other.

use flambeau::{
    lstm_with, manual_seed, no_grad,
    options::{CreationOptions, DimOptions, LstmOptions},
    zeros_with, Device, Result, Tensor,
};

use crate::{
    model::{encode, Chars, HIDDEN, LAYERS},
    options::Options,
};

/// What the LSTM remembers of the characters so far: `[LAYERS, 1, HIDDEN]` twice.
type Memory = (Tensor, Tensor);

/// Feeds characters, i64 `[1, n]`, and gives the logits of what follows, `[words]`.
fn next_logits(model: &Chars, codes: &Tensor, memory: &Memory) -> Result<(Tensor, Memory)> {
    let how = LstmOptions::default().num_layers(LAYERS).batch_first(true);
    let vectors = model.layers.child("embedding")?.forward(codes)?;
    let parameters = model.layers.child("lstm")?.parameters()?;
    let states = [&memory.0, &memory.1];
    let (output, h, c) = lstm_with(&vectors, &parameters, Some(&states), None, how)?;
    let last = output.narrow(1, output.size(1) - 1, 1)?;
    let logits = model.layers.child("head")?.forward(&last)?;
    Ok((logits.reshape(&[-1])?, (h, c)))
}

/// What is to be continued; without a prompt, the first character of the vocabulary.
pub fn prompt(options: &Options, used: &[u8]) -> Vec<u8> {
    match &options.prompt {
        Some(prompt) => prompt.clone().into_bytes(),
        None => used[..1].to_vec(),
    }
}

/// The prompt and `length` characters after it. Colder is surer; at temperature 0 always the
/// likeliest character follows.
pub fn text(mut model: Chars, device: Device, options: &Options) -> Result<Vec<u8>> {
    model.layers.eval()?;
    manual_seed(options.seed)?;
    let vocabulary = model
        .layers
        .buffer("vocabulary")?
        .to_device(Device::cpu())?;
    let used = vocabulary.to_vec::<u8>()?;
    let mut written = prompt(options, &used);
    let zeros = || {
        let place = CreationOptions::default().device(device);
        zeros_with(&[LAYERS, 1, HIDDEN], place)
    };
    no_grad(|| {
        let mut codes = encode(&written, &vocabulary)?
            .to_device(device)?
            .reshape(&[1, -1])?;
        let mut memory = (zeros()?, zeros()?);
        for _ in 0..options.length {
            let (logits, after) = next_logits(&model, &codes, &memory)?;
            let code = if options.temperature > 0.0 {
                logits
                    .div(options.temperature)?
                    .softmax(-1)?
                    .multinomial(1)?
            } else {
                logits.argmax_with(DimOptions::default().dim(-1).keepdim(true))?
            };
            written.push(used[code.item_i64()? as usize]);
            codes = code.reshape(&[1, -1])?;
            memory = after;
        }
        Ok(written)
    })
}
