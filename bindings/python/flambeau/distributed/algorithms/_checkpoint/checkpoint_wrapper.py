"""Modules whose activations backward computes anew, or that are in host memory meanwhile: wrappers
around a module of which names of parameters and state dicts say nothing."""

import enum

from ....autograd.graph import save_on_cpu
from ....nn.modules.module import Module
from ....utils.checkpoint import checkpoint

__all__ = (
    "ActivationWrapper CheckpointImpl CheckpointWrapper OffloadWrapper "
    "apply_activation_checkpointing checkpoint_wrapper offload_wrapper"
).split()

_CHECKPOINT_WRAPPED_MODULE = "_checkpoint_wrapped_module"
_CHECKPOINT_PREFIX = _CHECKPOINT_WRAPPED_MODULE + "."


class CheckpointImpl(enum.Enum):
    """How activations are computed anew: as `use_reentrant` of `checkpoint` says."""

    REENTRANT = enum.auto()
    NO_REENTRANT = enum.auto()


class ActivationWrapper(Module):
    """What the wrappers have in common: attributes and items are the wrapped module's."""

    def __init__(self, mod):
        super().__init__()
        self._checkpoint_wrapped_module = mod
        self._register_state_dict_hook(_without_prefix)
        self.register_load_state_dict_pre_hook(_with_prefix)

    def forward(self, *args, **kwargs):
        raise ValueError("Subclasses should implement forward().")

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__(_CHECKPOINT_WRAPPED_MODULE), name)

    def __getitem__(self, key):
        return self._checkpoint_wrapped_module[key]

    def named_parameters(self, *args, **kwargs):
        """As those of the wrapped module."""
        for name, parameter in super().named_parameters(*args, **kwargs):
            yield name.replace(_CHECKPOINT_PREFIX, ""), parameter


def _renamed(state, old, new):
    for key in [key for key in state if key.startswith(old)]:
        state[new + key[len(old) :]] = state.pop(key)


def _without_prefix(module, state_dict, prefix, *_):
    _renamed(state_dict, prefix + _CHECKPOINT_PREFIX, prefix)
    return state_dict


def _with_prefix(module, state_dict, prefix, *_):
    _renamed(state_dict, prefix, prefix + _CHECKPOINT_PREFIX)


class OffloadWrapper(ActivationWrapper):
    """What backward needs of a module is in host memory until then."""

    def forward(self, *args, **kwargs):
        with save_on_cpu(pin_memory=True):
            return self._checkpoint_wrapped_module(*args, **kwargs)


class CheckpointWrapper(ActivationWrapper):
    """A module that backward runs again, by `checkpoint_fn` where that is given."""

    def __init__(self, mod, checkpoint_impl=CheckpointImpl.NO_REENTRANT, checkpoint_fn=None,
                 **checkpoint_fn_kwargs):  # fmt: skip
        super().__init__(mod)
        self.checkpoint_impl, self._options = checkpoint_impl, checkpoint_fn_kwargs
        self._function = checkpoint_fn

    def checkpoint_fn(self, function, *args, **kwargs):
        """What runs the module."""
        if self._function is not None:
            return self._function(function, *args, **self._options, **kwargs)
        reentrant = self.checkpoint_impl is CheckpointImpl.REENTRANT
        return checkpoint(function, *args, use_reentrant=reentrant, **self._options, **kwargs)

    def forward(self, *args, **kwargs):
        module = self._checkpoint_wrapped_module
        if self.checkpoint_impl is not CheckpointImpl.REENTRANT or not kwargs:
            return self.checkpoint_fn(module, *args, **kwargs)
        names, count = list(kwargs), len(args)  # the reentrant form takes no keywords

        def run(*values):
            return module(*values[:count], **dict(zip(names, values[count:])))

        return self.checkpoint_fn(run, *args, *kwargs.values())


def offload_wrapper(module):
    """The module, with what backward needs of it in host memory."""
    return OffloadWrapper(module)


def checkpoint_wrapper(module, checkpoint_impl=CheckpointImpl.NO_REENTRANT, checkpoint_fn=None,
                       **checkpoint_fn_kwargs):  # fmt: skip
    """The module, whose activations backward computes anew."""
    return CheckpointWrapper(module, checkpoint_impl, checkpoint_fn, **checkpoint_fn_kwargs)


def apply_activation_checkpointing(model, checkpoint_wrapper_fn=checkpoint_wrapper,
                                   check_fn=lambda _: True, auto_wrap_policy=None):  # fmt: skip
    """Puts wrappers in the place of modules below `model` of which `check_fn(module)` says so, or a
    policy of those in `torch.distributed.fsdp.wrap`; from the leaves up."""

    def by_check(module, recurse, nonwrapped_numel):
        return recurse or check_fn(module)

    _wrap_below(model, auto_wrap_policy or by_check, checkpoint_wrapper_fn, {})


def _wrap_below(module, policy, wrap, done):
    """Elements of parameters that are in no wrapper. A module that has several places is wrapped
    once."""
    rest = sum(p.numel() for p in module.parameters())
    if not policy(module=module, recurse=True, nonwrapped_numel=rest):
        return rest
    for name, child in module.named_children():
        if id(child) not in done:
            whole = sum(p.numel() for p in child.parameters())
            left = _wrap_below(child, policy, wrap, done)
            wants = policy(module=child, recurse=False, nonwrapped_numel=left)
            done[id(child)] = wrap(child) if wants else child
            rest -= whole if wants else whole - left
        setattr(module, name, done[id(child)])
    return rest
