"""DataParallel: one batch cut over the devices of this process, one replica of the module on each.

The module stays on the first device; every forward copies it to the others, so that a step of the
optimizer needs no further exchange."""

import itertools

from ... import cuda
from ...autograd import is_grad_enabled
from ..modules.module import Module
from .parallel_apply import parallel_apply
from .replicate import replicate
from .scatter_gather import as_device, gather, scatter_kwargs


def _checked(module, first):
    for t in itertools.chain(module.parameters(), module.buffers()):
        if t.device != first:
            raise RuntimeError(
                "module must have its parameters and buffers on device "
                f"{first} (device_ids[0]) but found one of them on device: {t.device}\n"
                f'  move it: module.to("{first}")'
            )


def _listed(device_ids):
    ids = range(cuda.device_count()) if device_ids is None else device_ids
    return [as_device(d) for d in ids]


class DataParallel(Module):
    """Runs `module` on chunks of the batch (dimension `dim`) over `device_ids` (all GPUs unless
    given) and gathers the results on `output_device` (the first). Without a GPU it only calls the
    module."""

    def __init__(self, module, device_ids=None, output_device=None, dim=0):
        super().__init__()
        devices = _listed(device_ids)
        self.module, self.dim = module, dim
        self.device_ids = [d.index if d.index is not None else d for d in devices]
        if not devices:
            return
        self._devices = devices
        self.output_device = self.device_ids[0] if output_device is None else output_device
        self.src_device_obj = devices[0]
        if len(devices) == 1:
            module.to(devices[0])

    def forward(self, *inputs, **kwargs):
        if not self.device_ids:
            return self.module(*inputs, **kwargs)
        _checked(self.module, self.src_device_obj)
        given, named = self.scatter(inputs, kwargs, self._devices)
        if not given:  # a forward without arguments
            given, named = ((),), ({},)
        if len(self._devices) == 1:
            return self.module(*given[0], **named[0])
        replicas = self.replicate(self.module, self._devices[: len(given)])
        outputs = self.parallel_apply(replicas, given, named)
        return self.gather(outputs, self.output_device)

    def replicate(self, module, device_ids):
        return replicate(module, device_ids, not is_grad_enabled())

    def scatter(self, inputs, kwargs, device_ids):
        return scatter_kwargs(inputs, kwargs, device_ids, self.dim)

    def parallel_apply(self, replicas, inputs, kwargs):
        return parallel_apply(replicas, inputs, kwargs, self._devices[: len(replicas)])

    def gather(self, outputs, output_device):
        return gather(outputs, output_device, self.dim)


def data_parallel(module, inputs, device_ids=None, output_device=None, dim=0, module_kwargs=None):
    """One forward of `module` on `inputs`, spread over `device_ids` as `DataParallel` does it."""
    inputs = inputs if isinstance(inputs, tuple) else () if inputs is None else (inputs,)
    devices = _listed(device_ids)
    if not devices:
        return module(*inputs, **(module_kwargs or {}))
    _checked(module, devices[0])
    given, named = scatter_kwargs(inputs, module_kwargs, devices, dim)
    if not given:
        given, named = ((),), ({},)
    if len(devices) == 1:
        return module(*given[0], **named[0])
    used = devices[: len(given)]
    outputs = parallel_apply(replicate(module, used, not is_grad_enabled()), given, named, used)
    return gather(outputs, devices[0] if output_device is None else output_device, dim)
