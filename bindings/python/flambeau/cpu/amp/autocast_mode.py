"""`torch.cpu.amp.autocast`, with PyTorch's warning."""

from ... import amp as _amp
from ..._deprecated import moved
from ..._types import bfloat16


class autocast(_amp.autocast):
    """`torch.amp.autocast("cpu", ...)`."""

    def __init__(self, enabled=True, dtype=bfloat16, cache_enabled=True):
        moved("torch.cpu.amp.autocast(args...)", "torch.amp.autocast('cpu', args...)")
        super().__init__("cpu", dtype, enabled, cache_enabled)
