"""`torch.cuda.amp.autocast` and the decorators, with PyTorch's warnings."""

import functools

from ..._deprecated import moved
from ..._types import float16
from ...amp import autocast_mode as _amp


class autocast(_amp.autocast):
    """`torch.amp.autocast("cuda", ...)`."""

    def __init__(self, enabled=True, dtype=float16, cache_enabled=True):
        moved("torch.cuda.amp.autocast(args...)", "torch.amp.autocast('cuda', args...)")
        super().__init__("cuda", dtype, enabled, cache_enabled)


def custom_fwd(fwd=None, *, cast_inputs=None):
    """`torch.amp.custom_fwd(..., device_type="cuda")`."""
    moved("torch.cuda.amp.custom_fwd(args...)", "torch.amp.custom_fwd(args..., device_type='cuda')")
    return functools.partial(_amp.custom_fwd, device_type="cuda")(fwd, cast_inputs=cast_inputs)


def custom_bwd(bwd):
    """`torch.amp.custom_bwd(..., device_type="cuda")`."""
    moved("torch.cuda.amp.custom_bwd(args...)", "torch.amp.custom_bwd(args..., device_type='cuda')")
    return _amp.custom_bwd(bwd, device_type="cuda")
