"""DistributedDataParallel over the default process group, which is one process here: the gradients
of this rank are the mean over all ranks already."""

from ... import distributed as dist
from ..._on_demand import during
from ..modules.module import Module
from .scatter_gather import as_device, scatter_kwargs


class DistributedDataParallel(Module):
    """Wraps `module` so that after `backward` every rank has the mean gradient. State-dict names
    begin with `module.`, as in PyTorch. Options that only say how ranks talk to each other are
    accepted."""

    def __init__(self, module, device_ids=None, output_device=None, dim=0, broadcast_buffers=None,
                 init_sync=True, process_group=None, bucket_cap_mb=None,
                 find_unused_parameters=False, check_reduction=False, gradient_as_bucket_view=False,
                 static_graph=False, **_):  # fmt: skip
        super().__init__()
        dist.get_rank(process_group)  # says it where there is no group
        parameters = [p for p in module.parameters() if p.requires_grad]
        if not parameters:
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter "
                "that requires a gradient."
            )
        if device_ids is not None and len(device_ids) > 1:
            raise ValueError("device_ids can only be None or contain a single element.")
        devices = {p.device for p in parameters}
        if device_ids and (len(devices) > 1 or devices == {as_device("cpu")}):
            raise ValueError(
                "DistributedDataParallel device_ids and output_device arguments only work with "
                f"single-device GPU modules, but got device_ids {device_ids}, output_device "
                f"{output_device}, and module parameters {devices}."
            )
        self.module, self.dim, self.process_group = module, dim, process_group
        self.device_ids = [as_device(d) for d in device_ids] if device_ids else None
        self.output_device = output_device
        self.device = next(iter(devices))
        self.broadcast_buffers = broadcast_buffers is None or broadcast_buffers
        self.find_unused_parameters, self.static_graph = find_unused_parameters, static_graph
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.require_backward_grad_sync = True

    def forward(self, *inputs, **kwargs):
        if self.device_ids:
            given, named = scatter_kwargs(inputs, kwargs, self.device_ids, self.dim)
            inputs, kwargs = (given[0], named[0]) if given else ((), {})
        return self.module(*inputs, **kwargs)

    def no_sync(self):
        """Gradients computed inside stay this rank's own until the next backward outside."""
        return during(vars(self), require_backward_grad_sync=False)

    def join(
        self, divide_by_initial_world_size=True, enable=True, throw_on_early_termination=False
    ):
        """For ranks with different numbers of batches; one rank waits for nobody."""
        return during({})
