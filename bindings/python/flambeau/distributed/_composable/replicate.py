"""`replicate`: a module that stays the same object, and whose gradients are the mean over a group:
a DistributedDataParallel of its parameters, in hooks around its forward, made at the first one."""

from ..._types import device as device_type
from ...nn.modules.module import Module
from ...nn.parallel import DistributedDataParallel
from .._group import member_of
from ..fsdp._state import state_of

_classes = {}  # class of a module -> the same that is a DDP


class _Parameters(Module):
    """Parameters of a module, by the names that it has for them."""

    def __init__(self, named):
        super().__init__()
        self._parameters.update(named)


class _State:
    """What is kept of a module."""

    def __init__(self, module, ignored, options):
        self.module, self.ignored, self.options = module, ignored, options
        self.ddp, self.hooks, self.require_backward_grad_sync = None, [], True

    def _made(self):
        ignored = {id(p) for m in self.ignored for p in m.parameters()}
        for part in self.module.modules():
            if state_of(part) is not None:
                ignored |= {id(p) for p in part.parameters()}
        named = {n: p for n, p in self.module.named_parameters() if id(p) not in ignored}
        self.ddp = DistributedDataParallel(_Parameters(named), **self.options)
        for args, kwargs in self.hooks:
            self.ddp.register_comm_hook(*args, **kwargs)

    def before_forward(self, module, args, kwargs):
        if self.ddp is None:
            self._made()
        self.ddp.require_backward_grad_sync = self.require_backward_grad_sync
        return self.ddp._pre_forward(*args, **kwargs)

    def after_forward(self, module, args, result):
        return self.ddp._post_forward(result)

    def _reduce_next(self, result):
        self.ddp.require_backward_grad_sync = self.require_backward_grad_sync
        self.ddp._reduce_next(result)


class DDP:
    """What a module can do besides, once `replicate` was called on it."""

    def __deepcopy__(self, memo):
        raise AssertionError("DDP does not support deepcopy. Please use state dict for "
                             "serialization.")  # fmt: skip

    def set_requires_gradient_sync(self, requires_gradient_sync):
        """Whether backward reduces gradients; until it does they add up on each rank."""
        state = self.__dict__["_replicate_state"]
        state.require_backward_grad_sync = bool(requires_gradient_sync)

    def register_comm_hook(self, *args, **kwargs):
        """As of DistributedDataParallel."""
        state = self.__dict__["_replicate_state"]
        if state.ddp is None:
            state.hooks.append((args, kwargs))
        else:
            state.ddp.register_comm_hook(*args, **kwargs)


def _options(options):
    """Those of DistributedDataParallel: `device_id` is its list of devices."""
    if "device_id" not in options:
        return options
    options = dict(options)
    device = options.pop("device_id")
    if not isinstance(device, (int, device_type)):
        raise RuntimeError(f"Expected device_id to be int or torch.device, but got {type(device)}")
    on_cpu = isinstance(device, device_type) and device.type == "cpu"
    return {**options, "device_ids": None if on_cpu else [device]}


def replicate(module, ignored_modules=None, **kwargs):
    """Has backward leave the mean gradient on every rank; `kwargs` as DistributedDataParallel has
    them. Modules of `ignored_modules`, and those of `fully_shard`, are left alone."""
    if state_of(module) is not None:
        raise RuntimeError(
            "Cannot apply `replicate()` on a Module already managed by `fully_shard`"
        )
    if "_replicate_state" in module.__dict__:
        raise AssertionError(
            "Each distinct composable distributed API can only be applied to a module once. "
            f"replicate has already been applied to the following module:\n{module}"
        )
    if kwargs.get("mixed_precision") is not None:
        raise NotImplementedError(
            "replicate: mixed_precision is unsupported; DistributedDataParallel takes it"
        )
    member_of(kwargs.get("process_group"), "replicate")
    state = _State(module, list(ignored_modules or ()), _options(kwargs))
    module.__dict__["_replicate_state"] = state
    cls = type(module)
    if cls not in _classes:
        _classes[cls] = type(f"DDP{cls.__name__}", (DDP, cls), {"__module__": cls.__module__})
    module.__class__ = _classes[cls]
    module.register_forward_pre_hook(state.before_forward, with_kwargs=True)
    module.register_forward_hook(state.after_forward)
    return module
