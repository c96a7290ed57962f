"""`ShardedGradScaler`: a `GradScaler` of ranks that have different gradients. One that is not
finite on any rank of the group skips the step of all, and losses keep their dtype."""

from ..._gen import api
from ..._tensor import Tensor
from ...amp.grad_scaler import GradScaler, _params
from .._collectives import all_reduce
from .._ops import ReduceOp

__all__ = ["ShardedGradScaler"]


class ShardedGradScaler(GradScaler):
    """`process_group`: the ranks that agree, by default all. One outside of it goes by itself, with
    the warning that its calls give."""

    def __init__(self, device="cuda", init_scale=2.0**16, backoff_factor=0.5, growth_factor=2.0,
                 growth_interval=2000, enabled=True, process_group=None):  # fmt: skip
        super().__init__(
            device, init_scale, growth_factor, backoff_factor, growth_interval, enabled
        )
        if self._enabled:
            self.process_group = process_group

    def scale(self, outputs):
        """A loss, or losses in any nesting, times the factor, each in its own dtype."""
        found = super().scale(outputs)
        return found.to(outputs.dtype) if isinstance(outputs, Tensor) else found

    def _agree(self, optimizer):
        for device in dict.fromkeys(p.device for p in _params(optimizer)):
            found = api.grad_scaler_found_inf(self._scaler, id(optimizer), device)
            all_reduce(found, ReduceOp.MAX, self.process_group)
