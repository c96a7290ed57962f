"""`torch.masked`, a prototype in PyTorch: unsupported, and here by name."""

from . import _refused

_WHY = "no tensor knows a mask of its own; use torch.where, masked_fill and sums over the mask"
_NAMES = (
    "MaskedTensor amax amin argmax argmin as_masked_tensor cumprod cumsum is_masked_tensor "
    "log_softmax logaddexp logsumexp masked_tensor mean median norm normalize prod softmax softmin "
    "std sum var"
)
globals().update(_refused.names("torch.masked", _NAMES, _WHY))
