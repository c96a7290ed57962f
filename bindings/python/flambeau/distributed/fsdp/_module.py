"""What a module can do besides, once `fully_shard` was called on it: gather and free its parameters
by hand, and say when and how they are gathered and reduced."""

from ... import _refused
from ..._deprecated import warn
from ._state import state_of

_COMM_WHY = "parameters are gathered and reduced by the group's own collectives, in buffers of its"
_REFUSED = {
    "set_custom_all_gather set_custom_reduce_scatter set_symm_mem_for_comm "
    "set_allocate_memory_from_process_group_for_comm set_separate_reduce_scatter_group": _COMM_WHY,
    "set_keep_unsharded_storage": "whole parameters are freed with their memory",
    "set_manual_backward_finalization finalize_backward reset_iter_state": "every backward "
    "finishes its reductions",
}


class UnshardHandle:
    """What `unshard(async_op=True)` returns."""

    def __init__(self, group):
        self._group = group

    def wait(self):
        """Returns when the module has its whole parameters."""
        self._group.gather()


class FSDPModule:
    """What a module can do besides, once `fully_shard` was called on it."""

    def __deepcopy__(self, memo):
        raise AssertionError("FSDP does not support deepcopy. Please use state dict for "
                             "serialization.")  # fmt: skip

    def _states(self, recurse):
        modules = self.modules() if recurse else [self]
        return [s for s in dict.fromkeys(map(state_of, modules)) if s is not None]

    def _set(self, name, value, recurse):
        for state in self._states(recurse):
            setattr(state.group, name, value)

    def unshard(self, async_op=False):
        """Gathers this module's parameters, not those of modules below that have groups of their
        own; with `async_op` the handle's `wait` does the rest."""
        group = state_of(self).group
        group.begin_gather()
        if async_op:
            return UnshardHandle(group)
        group.gather()
        return None

    def reshard(self):
        """Frees the whole parameters; the module has the parts again."""
        state_of(self).group.free()

    def set_requires_gradient_sync(self, requires_gradient_sync, *, recurse=True):
        """Whether backward reduces gradients; until it does they are summed up, whole."""
        self._set("reduces", bool(requires_gradient_sync), recurse)

    def set_requires_all_reduce(self, requires_all_reduce, *, recurse=True):
        """Of a mesh of two dimensions: whether gradients are averaged over the copies, too."""
        self._set("reduces_copies", bool(requires_all_reduce), recurse)

    def set_is_last_backward(self, is_last_backward):
        """Said for torch's sake: every backward finishes its reductions."""

    def set_reshard_after_forward(self, reshard_after_forward, recurse=True):
        """Whether parameters are freed between forward and backward."""
        if not isinstance(reshard_after_forward, bool):
            raise ValueError(
                f"reshard_after_forward should be a bool, got {type(reshard_after_forward)}"
            )
        for state in self._states(recurse):
            state.automatic = False
            state.group.set_frees_after_forward(reshard_after_forward)

    def set_reshard_after_backward(self, reshard_after_backward, *, recurse=True):
        """Whether parameters are freed after backward."""
        self._set("frees_after_backward", bool(reshard_after_backward), recurse)

    def set_unshard_in_backward(self, unshard_in_backward):
        """Whether backward gathers this module's parameters: not where it needs none of them, as
        that of an embedding."""
        state_of(self).group.gathers_in_backward = bool(unshard_in_backward)

    def set_post_optim_event(self, event):
        """What the next forward waits for before it gathers, where the optimizer has stepped on
        another stream. Once: a new event for each step."""
        state_of(self).stepped = event

    # ---- reductions

    def set_gradient_divide_factor(self, factor):
        """What the sum of gradients is divided by, in place of the number of ranks."""
        state_of(self).group.factor = float(factor)

    def set_reduce_scatter_divide_factor(self, factor):
        """The same by its old name."""
        warn("Use `set_gradient_divide_factor` instead", DeprecationWarning)
        self.set_gradient_divide_factor(factor)

    def set_force_sum_reduction_for_comms(self, enable):
        """Whether ranks exchange sums alone, which are divided afterwards."""
        state_of(self).group.sums_only = bool(enable)

    def set_all_reduce_hook(self, hook, *, stream=None):
        """Calls `hook(reduced)` with this rank's rows of gradients when they have been reduced, for
        a further reduction of the program's; on `stream` where that is given."""
        group = state_of(self).group
        if stream is not None and group.copies is not None:
            raise ValueError("stream cannot be set when using native HSDP")
        group.hook = hook, stream

    def set_reduce_scatter_unused_params(self, reduce_scatter_unused_params, *, recurse=True):
        """Whether parameters without a gradient are reduced as zeros, where ranks use different
        ones. Such gradients are reduced at the end of backward."""
        self._set("reduces_unused", bool(reduce_scatter_unused_params), recurse)

    def set_reduce_scatter_max_input_buffers(self, max_input_buffers, *, recurse=True):
        """How many reductions are under way at once, each with a buffer."""
        if isinstance(max_input_buffers, bool) or not isinstance(max_input_buffers, int):
            raise TypeError(
                f"max_input_buffers must be an int, got {type(max_input_buffers).__name__}"
            )
        if max_input_buffers < 1:
            raise ValueError(f"max_input_buffers must be a positive int, got {max_input_buffers}")
        self._set("buffers", max_input_buffers, recurse)

    # ---- order

    def set_modules_to_forward_prefetch(self, modules):
        """What is gathered ahead when this module's forward begins, in place of the module that
        came next the last time."""
        state_of(self).ahead = _states_of(modules)

    def set_modules_to_backward_prefetch(self, modules):
        """The same of backward."""
        state_of(self).ahead_backward = _states_of(modules)


def _states_of(modules):
    for module in modules:
        if not isinstance(module, FSDPModule):
            raise ValueError(f"Expects FSDPModule but got {type(module)}: {module}")
    return [state_of(module) for module in modules]


for _words, _why in _REFUSED.items():
    for _name, _refuse in _refused.names("FSDPModule", _words, _why).items():
        setattr(FSDPModule, _name, _refuse)


def share_comm_ctx(modules):
    """Said for torch's sake: all modules of a process share the streams of their groups."""
    for module in modules:
        if not isinstance(module, FSDPModule):
            raise ValueError(f"Expects list of FSDPModules but got {module}")
