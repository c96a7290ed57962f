"""`torch.distributed.checkpoint.optimizer`: unsupported, by name."""

from ... import _refused

__all__ = ["load_sharded_optimizer_state_dict"]
load_sharded_optimizer_state_dict = _refused.function(
    "torch.distributed.checkpoint.optimizer",
    "load_sharded_optimizer_state_dict",
    "load reads an optimizer's state into what state_dict.get_optimizer_state_dict gives, however "
    "it lies, and state_dict.set_optimizer_state_dict puts it back",
)
