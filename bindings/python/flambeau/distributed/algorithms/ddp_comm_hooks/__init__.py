"""Functions for `DistributedDataParallel.register_comm_hook`, and some of them by a constant."""

import enum

from ...._errors import UnsupportedError
from . import debugging_hooks, default_hooks, post_localSGD_hook, powerSGD_hook

__all__ = [
    "DDPCommHookType", "debugging_hooks", "default_hooks", "post_localSGD_hook", "powerSGD_hook",
    "register_ddp_comm_hook",
]  # fmt: skip


class _Hook:
    """What a constant stands for: called with a model and a process group, it registers a hook."""

    def __init__(self, hook, rank=None):
        self._hook, self._rank = hook, rank

    def __call__(self, *, model, state=None, **options):
        if self._rank is not None:
            options = {"matrix_approximation_rank": self._rank} | options
            state = powerSGD_hook.PowerSGDState(state, **options)
        model.register_comm_hook(state, self._hook)


class _Lacking:
    def __init__(self, what):
        self._what = what

    def __call__(self, **given):
        raise UnsupportedError(
            f"{self._what} is unsupported: fp16_compress_hook halves what is sent, powerSGD_hook "
            "sends less"
        )


class DDPCommHookType(enum.Enum):
    """Hooks by name; `value(model=..., state=...)` registers one."""

    ALLREDUCE = _Hook(default_hooks.allreduce_hook)
    FP16_COMPRESS = _Hook(default_hooks.fp16_compress_hook)
    BF16_COMPRESS = _Hook(default_hooks.bf16_compress_hook)
    QUANTIZE_PER_TENSOR = _Lacking("a hook that quantizes tensors")
    QUANTIZE_PER_CHANNEL = _Lacking("a hook that quantizes channels")
    POWER_SGD = _Hook(powerSGD_hook.powerSGD_hook, rank=1)
    POWER_SGD_RANK2 = _Hook(powerSGD_hook.powerSGD_hook, rank=2)
    BATCHED_POWER_SGD = _Lacking("PowerSGD of a whole bucket as one matrix")
    BATCHED_POWER_SGD_RANK2 = _Lacking("PowerSGD of a whole bucket as one matrix of rank 2")
    NOOP = _Hook(debugging_hooks.noop_hook)


def register_ddp_comm_hook(comm_hook_type, model, state=None):
    """Registers the hook of a constant with the model; `state`: a process group, default all."""
    comm_hook_type.value(model=model, state=state)
