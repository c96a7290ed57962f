//! Named tensors as a Rust collection.

use crate::{Result, State, Tensor};

impl State {
    /// Names and tensors, in order.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub fn entries(&self) -> Result<Vec<(String, Tensor)>> {
        (0..self.size()).map(|i| Ok((self.name(i).unwrap_or_default(), self.tensor(i)?))).collect()
    }
}
