"""DistributedDataParallel: a module whose gradients are the mean over a process group. The library
reduces them in buckets while backward goes on (`flam_ddp_*`); here is what is Python's: torch's
arguments and attributes, tensors in nested results, and buffers that programs replace."""

import inspect

from ... import distributed as dist
from ..._gen import api
from ..._torch import bfloat16, float16, is_grad_enabled
from ...distributed._group import member_of
from ...distributed._place import tell_place
from ...distributed.algorithms.join import Join, Joinable
from ...futures import Future
from ..modules.module import Module
from . import _join, _mixed_precision, _sync
from ._mixed_precision import _MixedPrecision  # noqa: F401, which programs take from here
from ._reducer import Reducer, logging_data
from ._sync import tensors_in as _find_tensors  # noqa: F401, the same
from .scatter_gather import as_device, scatter_kwargs

_UNSUPPORTED = ("delay_all_reduce_named_params param_to_hook_all_reduce bucket_cap_mb_list").split()
# Say how to be faster, and change no gradient.
_HINTS = "skip_all_reduce_unused_params batched_grad_copy lazy_bucket_allocation".split()
_MIB = 1024 * 1024
_IGNORED = "_ddp_params_and_buffers_to_ignore"


class DistributedDataParallel(Module, Joinable):
    """Wraps `module` so that after `backward` every rank has the mean gradient. State-dict names
    begin with `module.`, as in PyTorch."""

    def __init__(self, module, device_ids=None, output_device=None, dim=0, broadcast_buffers=None,
                 init_sync=True, process_group=None, bucket_cap_mb=None,
                 find_unused_parameters=False, check_reduction=False, gradient_as_bucket_view=False,
                 static_graph=False, *, device_mesh=None, forward_sync_buffers=None,
                 mixed_precision=None,
                 **more):  # fmt: skip
        super().__init__()
        Joinable.__init__(self)
        _refuse(more)
        if device_mesh is not None:
            process_group, self.device_mesh = _group_of(device_mesh, process_group), device_mesh
        self.process_group = member_of(process_group, "DistributedDataParallel")
        self._ranks = self.process_group.size()
        self.parameters_to_ignore = set(getattr(module, _IGNORED, ()))
        mine = [(n, p) for n, p in module.named_parameters() if n not in self.parameters_to_ignore]
        _check_whole(mine)
        devices = _checked_devices(
            [p for _, p in mine if p.requires_grad], device_ids, output_device
        )
        self.module, self.dim = module, dim
        self.device_ids = [as_device(d) for d in device_ids] if device_ids else None
        self.output_device = output_device
        self.device = next(iter(devices))
        self.device_type, self.is_multi_device_module = self.device.type, len(devices) > 1
        said = forward_sync_buffers if broadcast_buffers is None else broadcast_buffers
        self.broadcast_buffers = said is None or bool(said)
        self.find_unused_parameters, self.static_graph = find_unused_parameters, static_graph
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.bucket_bytes_cap_default = bucket_cap_mb is None
        self.bucket_bytes_cap = int((25 if bucket_cap_mb is None else bucket_cap_mb) * _MIB)
        self.require_forward_param_sync = True
        self._divide_by_initial_world_size, self.mixed_precision = True, mixed_precision
        self._couple(mine, init_sync)

    def _couple(self, parameters, init_sync):
        self._with_buffers = _sync.modules_with_buffers(self.module, self.parameters_to_ignore)
        buffers = enumerate(_sync.buffers_of(self._with_buffers))
        tell_place()
        self._ddp = api.ddp_of(
            self.process_group._handle,
            _sync.named(parameters),
            _sync.named((f"buffer {i}", b) for i, b in buffers),
            init_sync,
            False,
            self.find_unused_parameters,
            self.static_graph,
            self.gradient_as_bucket_view,
            self.bucket_bytes_cap / _MIB,
            1 if self.bucket_bytes_cap_default else self.bucket_bytes_cap / _MIB,
        )
        self.require_backward_grad_sync = True
        if self.mixed_precision is not None:
            _mixed_precision.set_up(self)

    def __getstate__(self):
        dist.get_rank()
        if self.process_group is not dist.group.WORLD:
            raise RuntimeError(
                "DDP Pickling/Unpickling are only supported when using DDP with the default "
                "process group. That is, when you have called init_process_group and have not "
                "passed process_group argument to DDP constructor"
            )
        kept = dict(vars(self))
        for name in "process_group", "_ddp", "_with_buffers":
            del kept[name]
        return kept

    def __setstate__(self, state):
        dist.get_rank()
        super().__setstate__(state)
        self.process_group = dist.group.WORLD
        self._couple(
            [
                (n, p)
                for n, p in self.module.named_parameters()
                if n not in self.parameters_to_ignore
            ],
            False,
        )

    # ---- steps

    def forward(self, *inputs, **kwargs):
        inputs, kwargs = self._pre_forward(*inputs, **kwargs)
        if self.mixed_precision is not None:
            inputs, kwargs = _mixed_precision.cast(self, inputs, kwargs)
            with _mixed_precision.lowered(self):
                return self._post_forward(self.module(*inputs, **kwargs))
        return self._post_forward(self.module(*inputs, **kwargs))

    def _pre_forward(self, *inputs, **kwargs):
        """What comes before the module's forward; its arguments."""
        joins, self._recording = self._join_config.enable, is_grad_enabled()
        tell_place()
        if joins:
            _join.step(self, Join.notify_join_context(self))
        api.ddp_prepare_forward(self._ddp)  # refuses what came before, so nobody waits for it
        if not joins and self._with_buffers and self.will_sync_module_buffers():
            self._sync_buffers(0)
        if self.device_ids:
            given, named = scatter_kwargs(inputs, kwargs, self.device_ids, self.dim)
            return (given[0], named[0]) if given else ((), {})
        return inputs, kwargs

    def _post_forward(self, result):
        """What comes after it; its result."""
        self.require_forward_param_sync = self._recording and self._synchronizing
        self._expect_backward(result)
        return result

    def _expect_backward(self, result):
        searched = self.find_unused_parameters and not self.static_graph
        api.ddp_prepare_backward(self._ddp, _sync.tensors_in(result) if searched else ())

    def _reduce_next(self, result):
        """Has the next backward, from `result`, reduce what has added up as if its forward had not
        been in `no_sync`: others may have followed that forward."""
        if self._synchronizing:
            api.ddp_prepare_forward(self._ddp)
            self._expect_backward(result)
            self.require_forward_param_sync = True

    @property
    def require_backward_grad_sync(self):
        """Whether gradients of the forwards to come are reduced."""
        return self._synchronizing

    @require_backward_grad_sync.setter
    def require_backward_grad_sync(self, enabled):
        self._synchronizing = bool(enabled)
        api.ddp_set_sync(self._ddp, self._synchronizing)

    def no_sync(self):
        """Gradients of forwards inside stay this rank's own, and add up until the next backward
        outside."""
        return _NoSync(self)

    def _set_static_graph(self):
        """Says that every step uses the same parameters the same number of times."""
        if not self.static_graph:
            api.ddp_set_static_graph(self._ddp)
            self.static_graph = True

    @property
    def reducer(self):
        """For programs that call `reducer.prepare_for_backward(outputs)` by themselves."""
        return Reducer(self)

    def _get_ddp_logging_data(self):
        """What there is to log of how the model is trained."""
        return logging_data(self)

    # ---- buffers

    def will_sync_module_buffers(self):
        """Whether the next forward begins with the buffers of another rank."""
        return bool(
            self.require_forward_param_sync and self.broadcast_buffers and self._with_buffers
        )

    def _sync_buffers(self, root):
        if self._ranks > 1:
            api.ddp_broadcast(self._ddp, _sync.buffers_of(self._with_buffers), root)

    @staticmethod
    def _set_params_and_buffers_to_ignore_for_model(module, params_and_buffers_to_ignore):
        """Names of tensors of `module` that a later DistributedDataParallel leaves alone."""
        setattr(module, _IGNORED, params_and_buffers_to_ignore)

    # ---- hooks

    def register_comm_hook(self, state, hook):
        """Has `hook(state, bucket)` reduce the gradients: it returns a future of a tensor of the
        bucket's size, which no other division follows. Once, before the first backward."""
        _check_hook(hook)
        from . import _buckets  # of programs that have a hook

        _buckets.register(self, state, hook)

    def _register_builtin_comm_hook(self, comm_hook_type):
        kind = str(getattr(comm_hook_type, "name", comm_hook_type)).rpartition(".")[2]
        dtypes = {"FP16_COMPRESS": float16, "BF16_COMPRESS": bfloat16}
        if kind in dtypes:
            api.ddp_compress(self._ddp, dtypes[kind])
        elif kind != "ALLREDUCE":
            raise ValueError(f"there is no built-in communication hook {comm_hook_type}")

    # ---- uneven inputs

    def join(
        self, divide_by_initial_world_size=True, enable=True, throw_on_early_termination=False
    ):
        """A `with` block around a training loop whose number of steps differs between ranks."""
        return Join(
            [self],
            enable,
            throw_on_early_termination,
            divide_by_initial_world_size=divide_by_initial_world_size,
        )

    def join_hook(self, **kwargs):
        return _join.DDPJoinHook(self, kwargs.get("divide_by_initial_world_size", True))

    @property
    def join_device(self):
        return self.device

    @property
    def join_process_group(self):
        return self.process_group


class _NoSync:
    def __init__(self, ddp):
        self._ddp = ddp

    def __enter__(self):
        self._before = self._ddp.require_backward_grad_sync
        self._ddp.require_backward_grad_sync = False

    def __exit__(self, *_):
        self._ddp.require_backward_grad_sync = self._before


def _refuse(options):
    for name, value in options.items():
        if name in _HINTS:
            continue
        if name not in _UNSUPPORTED:
            raise TypeError(
                f"DistributedDataParallel.__init__() got an unexpected keyword argument '{name}'"
            )
        if value is not None:
            raise NotImplementedError(f"DistributedDataParallel: {name} is unsupported")


def _group_of(mesh, group):
    if group is not None:
        raise RuntimeError("Cannot specify both process_group and device_mesh arguments.")
    if mesh.ndim != 1:
        raise RuntimeError(f"Only 1D device mesh is supported, but got {mesh}.")
    return mesh.get_group(0)


def _check_whole(parameters):
    for name, p in parameters:
        if hasattr(p, "_local_tensor"):
            raise NotImplementedError(
                f"DistributedDataParallel: the parameter '{name}' lies over ranks ({p.placements} "
                f"of {p.device_mesh!r}), which is unsupported\n  "
                "torch.distributed.fsdp.fully_shard(module, mesh=...) over the mesh's other "
                "dimension reduces gradients of tensor-parallel modules"
            )


def _checked_devices(parameters, device_ids, output_device):
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
    return devices


def _check_hook(hook):
    if not callable(hook):
        raise TypeError("Communication hook must be callable.")
    signature, nothing = inspect.signature(hook), inspect.Signature.empty
    said = (
        signature.parameters["bucket"].annotation if "bucket" in signature.parameters else nothing
    )
    if said is not nothing and getattr(said, "__name__", said) not in (
        "GradBucket",
        "dist.GradBucket",
    ):
        raise ValueError("Communication hook: bucket annotation should be dist.GradBucket.")
    result = signature.return_annotation
    if result is not nothing and "Future" not in str(result) and result is not Future:
        raise ValueError(
            "Communication hook: return annotation should be torch.futures.Future[torch.Tensor]."
        )
