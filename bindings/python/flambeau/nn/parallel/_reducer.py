"""`ddp.reducer`, for programs that begin a backward by themselves, and what a
DistributedDataParallel says of itself, for their logs."""

from ... import distributed as dist
from ..._gen import api


class Reducer:
    """What reduces the gradients of one model; the library orders its buckets."""

    def __init__(self, ddp):
        self._ddp = ddp

    def prepare_for_forward(self):
        """Before a forward."""
        api.ddp_prepare_forward(self._ddp._ddp)

    def prepare_for_backward(self, outputs):
        """Has the next backward reduce. `outputs`: where it begins, so that parameters that it does
        not come to are found, where the model looks for them."""
        api.ddp_prepare_backward(self._ddp._ddp, list(outputs))

    def _rebuild_buckets(self):
        """False: buckets are in the order of backward from the second forward on, by themselves."""
        return False


def logging_data(ddp):
    """What torch's `_get_ddp_logging_data` says that does not depend on its engine."""
    parameters = [p for p in ddp.module.parameters() if p.requires_grad]
    return {
        "world_size": dist.get_world_size(ddp.process_group),
        "rank": dist.get_rank(ddp.process_group),
        "module_name": type(ddp.module).__name__,
        "device_ids": ", ".join(map(str, ddp.device_ids or ())),
        "output_device": -1 if ddp.output_device is None else ddp.output_device,
        "broadcast_buffers": int(ddp.broadcast_buffers),
        "bucket_cap_bytes": ddp.bucket_bytes_cap,
        "find_unused_parameters": int(ddp.find_unused_parameters),
        "gradient_as_bucket_view": int(ddp.gradient_as_bucket_view),
        "static_graph": int(ddp.static_graph),
        "is_multi_device_module": int(ddp.is_multi_device_module),
        "num_parameter_tensors": len(parameters),
        "total_parameter_size_bytes": sum(p.nbytes for p in parameters),
        "dtypes": ", ".join(sorted({str(p.dtype).rpartition(".")[2] for p in parameters})),
        "backend_name": dist.get_backend(ddp.process_group),
    }
