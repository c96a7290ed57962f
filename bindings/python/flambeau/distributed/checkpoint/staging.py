"""`torch.distributed.checkpoint.staging`: what `async_save` copies by, unsupported, by name."""

from ... import _refused

_NAMES = "AsyncStager BlockingAsyncStager DefaultStager StagingOptions"
_WHY = "async_save copies what it saves before it returns"
__all__ = _NAMES.split()
globals().update(_refused.names("torch.distributed.checkpoint.staging", _NAMES, _WHY))
