//! The model, and the characters it knows.

use flambeau::{
    nn::{EmbeddingOptions, Layer, LinearOptions, Recurrent, RecurrentOptions},
    Device, Dtype, Error, Result, State, Status, Tensor,
};

pub const LAYERS: i64 = 2;
pub const HIDDEN: i64 = 128;
const FEATURES: i64 = 32;

/// Characters in, i64 `[n, length]`; logits of the next characters out, `[n, length, words]`.
pub struct Chars {
    pub layers: Layer,
}

impl Chars {
    pub fn new(vocabulary: &Tensor, device: Device) -> Result<Chars> {
        let (words, on) = (vocabulary.numel(), Some(device));
        let table = EmbeddingOptions::default().device(on);
        let recurrent = RecurrentOptions::default()
            .num_layers(LAYERS)
            .batch_first(true)
            .device(on);
        let linear = LinearOptions::default().device(on);
        let mut layers = Layer::sequential()?;
        let parts = [
            ("embedding", Layer::embedding_with(words, FEATURES, table)?),
            (
                "lstm",
                Layer::recurrent_with(Recurrent::Lstm, FEATURES, HIDDEN, recurrent)?,
            ),
            ("head", Layer::linear_with(HIDDEN, words, linear)?),
        ];
        for (name, layer) in &parts {
            layers.set_child_with(name, Some(layer))?;
        }
        let vocabulary = vocabulary.to_device(device)?;
        layers.set_buffer_with("vocabulary", Some(&vocabulary), true)?;
        Ok(Chars { layers })
    }

    /// A model as it was saved: the vocabulary among its weights says how large it is.
    pub fn from_state(state: &State, device: Device) -> Result<Chars> {
        let mut model = Chars::new(&state.get("vocabulary")?, device)?;
        model.layers.load_state_dict(state)?;
        Ok(model)
    }
}

/// The bytes that occur, in order: u8 `[n]`.
pub fn vocabulary_of(text: &[u8]) -> Result<Tensor> {
    let used: Vec<u8> = (0..=255).filter(|byte| text.contains(byte)).collect();
    Tensor::from_slice(&used, &[used.len() as i64])
}

/// Where each byte stands in the vocabulary: i64 `[n]`.
pub fn encode(bytes: &[u8], vocabulary: &Tensor) -> Result<Tensor> {
    let used = vocabulary.to_dtype(Dtype::U8)?.to_vec::<u8>()?;
    let place = |byte| match used.binary_search(byte) {
        Ok(place) => Ok(place as i64),
        Err(_) => Err(Error::new(
            Status::InvalidArgument,
            format!(
                "character {} is not in the text it learned from",
                *byte as char
            ),
        )),
    };
    let codes = bytes.iter().map(place).collect::<Result<Vec<i64>>>()?;
    Tensor::from_slice(&codes, &[codes.len() as i64])
}
