"""`torch.distributed.pipelining`: a model's stages on ranks of their own, between which batches go
in parts. A program divides its model itself: what traces one to divide it is unsupported, by
name."""

from ... import _refused
from ..._on_demand import loader as _loader
from .schedules import *  # noqa: F403
from .schedules import __all__ as _schedules
from .stage import *  # noqa: F403
from .stage import __all__ as _stages

_NAMES = "Pipe SplitPoint pipe_split pipeline"
_WHY = (
    "models are not traced; give each rank its part as PipelineStage(module, index, count, device)"
)
__all__ = [*_stages, *_NAMES.split()]
__all__ += [name for name in _schedules if name.startswith("Schedule")]
globals().update(_refused.names("torch.distributed.pipelining", _NAMES, _WHY))
__getattr__ = _loader(globals(), {}, "microbatch schedules stage")
