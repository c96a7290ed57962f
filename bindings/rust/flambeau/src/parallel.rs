//! A data parallel step as programs write it: one forward with what comes before and after it, and
//! gradients that stay on their rank for a while.

use crate::{access::writing, distributed::Ddp, Result, Scope, Tensor};

impl Ddp {
    /// One forward of a step: `run` computes from this rank's share what backward will begin at,
    /// and that backward leaves the mean of all ranks' gradients. Where there are several outputs,
    /// [`Ddp::prepare_forward`] and [`Ddp::prepare_backward`] stand around the forward instead.
    ///
    /// ```
    /// use flambeau::{distributed::{Ddp, Group, Store}, nn::Layer, ones};
    ///
    /// # fn main() -> flambeau::Result<()> {
    /// let group = Group::new(&Store::hash()?, 0, 1)?;
    /// let model = Layer::linear(3, 1)?;
    /// let mut ddp = Ddp::new(&group, &model)?;
    /// let y = ddp.forward(|| model.forward(&ones(&[2, 3])?))?;
    /// y.sum()?.backward()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// What `run` fails with; those of [`Ddp::prepare_forward`] and [`Ddp::prepare_backward`].
    pub fn forward(&mut self, run: impl FnOnce() -> Result<Tensor>) -> Result<Tensor> {
        self.prepare_forward()?;
        let output = run()?;
        self.prepare_backward(&[&output])?;
        Ok(output)
    }

    /// Lets gradients of forwards stay on their rank until the guard is dropped, and add up until
    /// a later backward reduces them: large batches in parts that fit.
    ///
    /// ```
    /// use flambeau::{distributed::{Ddp, Group, Store}, nn::Layer, ones};
    ///
    /// # fn main() -> flambeau::Result<()> {
    /// let group = Group::new(&Store::hash()?, 0, 1)?;
    /// let model = Layer::linear(3, 1)?;
    /// let mut ddp = Ddp::new(&group, &model)?;
    /// let part = ones(&[2, 3])?;
    /// {
    ///     let _apart = ddp.no_sync();
    ///     ddp.forward(|| model.forward(&part))?.sum()?.backward()?;
    /// }
    /// ddp.forward(|| model.forward(&part))?.sum()?.backward()?;
    /// let bias = model.parameter("bias")?;
    /// assert_eq!(bias.grad()?.unwrap().item::<f32>()?, 4.0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn no_sync(&mut self) -> Scope {
        let _access = writing();
        // SAFETY: `self` is live during the call, and the open scope keeps the coupling.
        Scope::new(unsafe { crate::sys::flam_ddp_no_sync_push(self.raw()) })
    }
}
