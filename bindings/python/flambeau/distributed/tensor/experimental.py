"""`torch.distributed.tensor.experimental`: unsupported, here by name."""

from ... import _refused

globals().update(
    _refused.names(
        "torch.distributed.tensor.experimental",
        "context_parallel implicit_replication local_map register_sharding",
        "which operations act on the parts of a DTensor is fixed; to_local() gives the part",
    )
)
