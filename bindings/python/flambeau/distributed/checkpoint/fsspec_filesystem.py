"""`torch.distributed.checkpoint.fsspec_filesystem`: unsupported, by name."""

from ... import _refused
from .storage import _WHY

_NAMES = "FsspecReader FsspecWriter"
__all__ = _NAMES.split()
globals().update(_refused.names("torch.distributed.checkpoint.fsspec_filesystem", _NAMES, _WHY))
