"""`fully_shard`: a module whose parameters lie over the ranks of a mesh and are whole only while it
computes. The module stays the same object, and is an `FSDPModule` besides."""

from ... import cuda
from ..._types import device as device_type
from ...nn.modules.container import ModuleDict, ModuleList
from ...nn.modules.module import Module
from .._group import world
from .._start import init_process_group, is_initialized
from ..device_mesh import init_device_mesh
from ._param import ShardedParam
from ._param_group import ParamGroup
from ._policies import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy
from ._state import State, state_of

_DTYPES, _ON_DEVICE = MixedPrecisionPolicy(), OffloadPolicy()


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
            setattr(state.group, name, bool(value))

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
        self._set("reduces", requires_gradient_sync, recurse)

    def set_requires_all_reduce(self, requires_all_reduce, *, recurse=True):
        """Of a mesh of two dimensions: whether gradients are averaged over the copies, too."""
        self._set("reduces_copies", requires_all_reduce, recurse)

    def set_is_last_backward(self, is_last_backward):
        """Said for torch's sake: every backward finishes its reductions."""

    def set_reshard_after_forward(self, reshard_after_forward, recurse=True):
        """Whether parameters are freed between forward and backward."""
        for state in self._states(recurse):
            state.automatic = False
            state.group.frees_after_forward = bool(reshard_after_forward)

    def set_reshard_after_backward(self, reshard_after_backward, *, recurse=True):
        """Whether parameters are freed after backward."""
        self._set("frees_after_backward", reshard_after_backward, recurse)

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


_classes = {}  # class of a module -> the same that is an FSDPModule


def _checked(modules):
    for module in modules:
        if isinstance(module, (ModuleList, ModuleDict)):
            raise ValueError(
                f"fully_shard does not support containers that do not implement forward: {module}"
            )
        if state_of(module) is not None:
            raise AssertionError(
                "Each distinct composable distributed API can only be applied to a module once. "
                f"fully_shard has already been applied to the following module:\n{module}"
            )


def _mesh(given):
    if given is None:
        if not is_initialized():
            init_process_group()
        kind = "cuda" if cuda.is_available() else "cpu"
        return init_device_mesh(kind, (world().size(),))
    if given.ndim not in (1, 2):
        raise ValueError(f"fully_shard expects a 1D or 2D DeviceMesh but got {given}")
    return given


def _found(modules, ignored):
    """Parameters that no group has yet, each with the names that modules have for it."""
    places, seen = {}, set()
    below = [(module, True) for module in modules]
    while below:
        module, outermost = below.pop(0)
        if module in seen or not outermost and state_of(module) is not None:
            continue
        seen.add(module)
        for name, p in module._parameters.items():
            if p is not None and p not in ignored:
                places.setdefault(p, []).append((module, name))
        below = [(child, False) for child in module.children()] + below
    return places, seen


def _moved_buffers(modules, device):
    for module in modules:
        for name, buffer in module._buffers.items():
            if buffer is not None and not buffer.is_meta and buffer.device != device:
                module._buffers[name] = buffer.to(device)


def fully_shard(module, *, mesh=None, reshard_after_forward=None, shard_placement_fn=None,
                mp_policy=_DTYPES, offload_policy=_ON_DEVICE,
                ignored_params=None):  # fmt: skip
    """Lays the parameters of a module, or of a list of modules that are gathered together, over the
    ranks; those below it that were given to `fully_shard` before have theirs by themselves.

    `reshard_after_forward`: free the whole parameters after forward and gather them again for
    backward; by default all modules do but the outermost. On a mesh of two dimensions, parameters
    are cut along the second and copied along the first."""
    modules = [module] if isinstance(module, Module) else list(module)
    _checked(modules)
    if shard_placement_fn is not None:
        raise NotImplementedError("fully_shard: shard_placement_fn is unsupported; parameters are "
                                  "cut along their first dimension")  # fmt: skip
    if reshard_after_forward is not None and not isinstance(reshard_after_forward, bool):
        raise NotImplementedError(
            f"fully_shard: reshard_after_forward={reshard_after_forward} is unsupported; say True "
            "or False"
        )
    mesh = _mesh(mesh)
    kind = mesh.device_type
    device = device_type(kind, cuda.current_device()) if kind == "cuda" else device_type(kind)
    places, below = _found(modules, ignored_params or set())
    offload = offload_policy if isinstance(offload_policy, CPUOffloadPolicy) else None
    params = [ShardedParam(p, at, mesh, device, offload) for p, at in places.items()]
    _moved_buffers(below, device)
    state = State(modules, ParamGroup(params, mesh, device, mp_policy), mp_policy)
    if reshard_after_forward is not None:
        state.automatic = False
        state.group.frees_after_forward = reshard_after_forward
    for part in modules:
        _join(part, state)
    return module


def _join(module, state):
    """Makes a module an FSDPModule with this state."""
    module.__dict__["_fsdp_state"] = state
    cls = type(module)
    if cls not in _classes:
        _classes[cls] = type(
            f"FSDP{cls.__name__}", (FSDPModule, cls), {"__module__": cls.__module__}
        )
    module.__class__ = _classes[cls]
    module.register_forward_pre_hook(state.before_forward, prepend=True, with_kwargs=True)
    module.register_forward_hook(state.after_forward, with_kwargs=True)
    module.register_state_dict_pre_hook(lambda m, *_: state.group.free())
    module._register_load_state_dict_pre_hook(lambda *_: state.group.free())


def register_fsdp_forward_method(module, method_name):
    """Has another method of an FSDPModule gather parameters as `forward` does."""
    state = state_of(module)
    if state is None:
        return
    method = getattr(module, method_name)

    def gathered(*args, **kwargs):
        args, kwargs = state.before_forward(module, args, kwargs)
        return state.after_forward(module, args, kwargs, method(*args, **kwargs))

    setattr(module, method_name, gathered)
