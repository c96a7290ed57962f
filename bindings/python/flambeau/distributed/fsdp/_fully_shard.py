"""`fully_shard`: a module whose parameters lie over the ranks of a mesh and are whole only while it
computes. The module stays the same object, and is an `FSDPModule` besides."""

from ... import cuda
from ..._types import device as device_type
from ...nn.modules.container import ModuleDict, ModuleList
from ...nn.modules.module import Module
from .._group import world
from .._placements import Shard
from .._start import init_process_group, is_initialized
from ..device_mesh import init_device_mesh
from ._module import FSDPModule, UnshardHandle  # noqa: F401, programs import it from here
from ._param import ShardedParam
from ._param_group import ParamGroup, checked_frees
from ._policies import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy
from ._state import State, state_of

_DTYPES, _ON_DEVICE = MixedPrecisionPolicy(), OffloadPolicy()


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
    backward; by default all modules do but the outermost. A number of ranks: groups of so many,
    near each other, keep them whole between them. `shard_placement_fn(parameter)`: the `Shard(dim)`
    by which it is cut, None for the first dimension. On a mesh of two dimensions, parameters are
    cut along the second and copied along the first."""
    modules = [module] if isinstance(module, Module) else list(module)
    _checked(modules)
    mesh = _mesh(mesh)
    frees = checked_frees(reshard_after_forward, mesh.size(-1))
    kind = mesh.device_type
    device = device_type(kind, cuda.current_device()) if kind == "cuda" else device_type(kind)
    places, below = _found(modules, ignored_params or set())
    offload = offload_policy if isinstance(offload_policy, CPUOffloadPolicy) else None
    dims = [_dim(p, shard_placement_fn) for p in places]
    params = [
        ShardedParam(p, at, mesh, device, offload, dim)
        for (p, at), dim in zip(places.items(), dims)
    ]
    _moved_buffers(below, device)
    state = State(modules, ParamGroup(params, mesh, device, mp_policy), mp_policy)
    if reshard_after_forward is not None:
        state.automatic = False
        state.group.set_frees_after_forward(frees)
    for part in modules:
        _join(part, state)
    return module


def _dim(parameter, placement_of):
    """The dimension along which a parameter is cut."""
    found = None if placement_of is None else placement_of(parameter)
    if found is None:
        return 0
    if not isinstance(found, Shard):
        raise ValueError(
            f"Invalid shard_placement_fn result: {found}\n  expected Shard(dim) or None; a mesh of "
            "a parameter's own is unsupported"
        )
    dims = parameter.dim()
    if not -dims <= found.dim < dims:
        raise ValueError(
            f"shard_placement_fn: {found} of a parameter of shape {tuple(parameter.shape)} is out "
            "of range"
        )
    return found.dim % dims


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
