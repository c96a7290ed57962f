"""`torch.cpu.amp.GradScaler`, with PyTorch's warning."""

from ... import amp as _amp
from ..._deprecated import moved


class GradScaler(_amp.GradScaler):
    """`torch.amp.GradScaler("cpu", ...)`."""

    def __init__(self, init_scale=2.0**16, growth_factor=2.0, backoff_factor=0.5,
                 growth_interval=2000, enabled=True):  # fmt: skip
        moved("torch.cpu.amp.GradScaler(args...)", "torch.amp.GradScaler('cpu', args...)")
        super().__init__("cpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
