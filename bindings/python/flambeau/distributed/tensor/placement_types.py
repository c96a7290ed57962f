"""`torch.distributed.tensor.placement_types`: how a tensor lies along a dimension of a mesh."""

from .._placements import Partial, Placement, Replicate, Shard, _StridedShard

__all__ = ["Partial", "Placement", "Replicate", "Shard", "_StridedShard"]
