"""`torch._custom_ops`, the older spelling of `torch.library`: packages import it; what it gave to
functions that describe results without computing them is unsupported."""

from . import _refused
from .library import _WHY

get_ctx = _refused.function("torch._custom_ops", "get_ctx", _WHY)
