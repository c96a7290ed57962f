"""`torch.masked`, a prototype in PyTorch: unsupported, and here by name."""

from . import _refused

_WHY = "no tensor knows a mask of its own; use torch.where, masked_fill and sums over the mask"
_FUNCTIONS = (
    "amax amin argmax argmin as_masked_tensor cumprod cumsum is_masked_tensor log_softmax "
    "logaddexp logsumexp masked_tensor mean median norm normalize prod softmax softmin std sum var"
).split()
MaskedTensor = _refused.kind("torch.masked", "MaskedTensor", _WHY)
globals().update({name: _refused.function("torch.masked", name, _WHY) for name in _FUNCTIONS})
