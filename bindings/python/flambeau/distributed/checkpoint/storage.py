"""`torch.distributed.checkpoint.storage`: places for checkpoints that a program defines,
unsupported, by name."""

from ... import _refused

_NAMES = "StorageReader StorageWriter WriteResult"
_WHY = (
    "checkpoints are directories, which FileSystemWriter and FileSystemReader write and read; a "
    "program copies one to where it is to stay"
)
__all__ = _NAMES.split()
globals().update(_refused.names("torch.distributed.checkpoint.storage", _NAMES, _WHY))
