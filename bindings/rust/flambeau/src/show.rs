//! What handles show in `{:?}`: what they are, never an address.

use std::fmt;

use crate::{
    access::reading, Dataset, Ddp, Event, Generator, GradScaler, Graph, Group, Hook, Layer, Loader,
    MemoryPool, Node, Optimizer, Plot, Profile, Progress, Saved, Scheduler, State, Store, Stream,
    Tensor, Work,
};

/// What errors show, and the values: `f32[2] on cpu, tensor([1., 2.])`.
impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let _access = reading();
        write!(f, "{}{:?} on {}, {}", self.dtype(), self.shape(), self.device(), self)
    }
}

/// Its type, then its tree, as PyTorch prints a module.
impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.format())
    }
}

/// As it prints.
impl fmt::Debug for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Its groups of parameters, each with its learning rate.
impl fmt::Display for Optimizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Optimizer (")?;
        for group in 0..self.group_count() {
            write!(f, "\nParameter Group {}", group)?;
            if let Ok(lr) = self.option_with("lr", group) {
                write!(f, "\n    lr: {}", lr)?;
            }
        }
        f.write_str("\n)")
    }
}

/// Names and tensors.
impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.entries().unwrap_or_default()).finish()
    }
}

macro_rules! show {
    ($($name:ident { $($what:ident),* })*) => {
        $(impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name))
                    $(.field(stringify!($what), &self.$what()))*
                    .finish_non_exhaustive()
            }
        })*
    };
}

show! {
    Dataset { size }
    Ddp { bucket_count }
    Event { device }
    Generator { device, initial_seed, offset }
    GradScaler { enabled }
    Graph {}
    Group { rank, size }
    Hook {}
    Loader { size }
    MemoryPool {}
    Node { name, id }
    Optimizer { group_count, lr }
    Plot {}
    Profile {}
    Progress { done }
    Saved {}
    Scheduler {}
    Store { describe, timeout }
    Stream { device, id }
    Work { done }
}
