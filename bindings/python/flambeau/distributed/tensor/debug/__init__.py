"""`torch.distributed.tensor.debug`: what operations on DTensors send."""

from .... import _refused
from ._comm_mode import CommDebugMode

__all__ = ["CommDebugMode", "visualize_sharding"]
visualize_sharding = _refused.function(
    "torch.distributed.tensor.debug",
    "visualize_sharding",
    "there are no drawings of how a tensor lies; its placements and device_mesh say it",
)
