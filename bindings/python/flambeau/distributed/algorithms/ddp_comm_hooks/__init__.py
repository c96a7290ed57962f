"""Functions for `DistributedDataParallel.register_comm_hook`, and some of them by a constant."""

import enum

from . import (
    debugging_hooks,
    default_hooks,
    post_localSGD_hook,
    powerSGD_hook,
    quantization_hooks,
)

__all__ = [
    "DDPCommHookType", "debugging_hooks", "default_hooks", "post_localSGD_hook", "powerSGD_hook",
    "quantization_hooks", "register_ddp_comm_hook",
]  # fmt: skip


class _Hook:
    """What a constant stands for: called with a model and a process group, it registers a hook,
    whose state is the group or what `state_of` makes of it."""

    def __init__(self, hook, state_of=None):
        self._hook, self._state_of = hook, state_of

    def __call__(self, *, model, state=None, **options):
        if self._state_of is not None:
            state = self._state_of(state, **options)
        model.register_comm_hook(state, self._hook)


def _power_sgd(rank, hook=powerSGD_hook.powerSGD_hook):
    def state_of(group, **options):
        return powerSGD_hook.PowerSGDState(group, **{"matrix_approximation_rank": rank} | options)

    return _Hook(hook, state_of)


class DDPCommHookType(enum.Enum):
    """Hooks by name; `value(model=..., state=...)` registers one."""

    ALLREDUCE = _Hook(default_hooks.allreduce_hook)
    FP16_COMPRESS = _Hook(default_hooks.fp16_compress_hook)
    BF16_COMPRESS = _Hook(default_hooks.bf16_compress_hook)
    QUANTIZE_PER_TENSOR = _Hook(quantization_hooks.quantization_pertensor_hook)
    QUANTIZE_PER_CHANNEL = _Hook(quantization_hooks.quantization_perchannel_hook)
    POWER_SGD = _power_sgd(1)
    POWER_SGD_RANK2 = _power_sgd(2)
    BATCHED_POWER_SGD = _power_sgd(1, powerSGD_hook.batched_powerSGD_hook)
    BATCHED_POWER_SGD_RANK2 = _power_sgd(2, powerSGD_hook.batched_powerSGD_hook)
    NOOP = _Hook(debugging_hooks.noop_hook)


def register_ddp_comm_hook(comm_hook_type, model, state=None):
    """Registers the hook of a constant with the model; `state`: a process group, default all."""
    comm_hook_type.value(model=model, state=state)
