"""`torch._custom_ops`, the older spelling of `torch.library`: packages import it; what it gave to
functions that describe results without computing them is unsupported."""

from .library import _refused

get_ctx = _refused("get_ctx")
