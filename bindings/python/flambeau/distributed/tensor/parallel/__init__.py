"""`torch.distributed.tensor.parallel`: unsupported, here by name."""

from .... import _refused

globals().update(
    _refused.names(
        "torch.distributed.tensor.parallel",
        "ColwiseParallel ParallelStyle PrepareModuleInput PrepareModuleInputOutput "
        "PrepareModuleOutput RowwiseParallel SequenceParallel loss_parallel parallelize_module",
        "torch.distributed.fsdp.fully_shard lays a module's parameters over the ranks",
    )
)
