"""`torch.distributed.tensor`: tensors that lie over the ranks of a mesh."""

from ... import serialization as _serialization
from ..._on_demand import loader as _loader
from .. import device_mesh as _device_mesh
from .._placements import Partial, Placement, Replicate, Shard
from ..device_mesh import DeviceMesh, init_device_mesh
from . import _rules  # noqa: F401, which tells DTensor
from ._distribute import distribute_module, distribute_tensor
from ._dtensor import DTensor, _rebuild_dtensor
from ._factories import empty, full, linspace, logspace, ones, rand, randn, zeros

_serialization.add_safe_globals(
    [_rebuild_dtensor, _device_mesh._of_pickle, Partial, Replicate, Shard]
)
__all__ = (
    "DTensor DeviceMesh Partial Placement Replicate Shard distribute_module distribute_tensor "
    "empty full init_device_mesh linspace logspace ones rand randn zeros"
).split()
__getattr__ = _loader(
    globals(), {}, "_utils debug device_mesh experimental parallel placement_types"
)
