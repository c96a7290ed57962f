"""`FullyShardedDataParallel`: the wrapper of PyTorch's first form, over `fully_shard`. Parameters
are DTensors here, not views of a flat one; state dicts have whole tensors under the module's own
names."""

import contextlib
import os

from ... import cuda
from ..._torch import empty_like, tensor
from ..._types import device as device_type
from ...autograd import no_grad
from ...nn.modules.module import Module
from ...nn.utils.clip_grad import clip_grad_norm_
from .._collectives import all_gather, broadcast
from .._group import get_process_group_ranks, member_of, world
from .._sealed import carrier
from .._subgroups import new_group
from ..device_mesh import DeviceMesh, init_device_mesh
from ..tensor._distribute import distribute_tensor
from ..tensor._dtensor import DTensor
from ._first_form import *  # noqa: F403, what programs import from here
from ._first_form import (
    FullOptimStateDictConfig,
    FullStateDictConfig,
    ShardingStrategy,
    StateDictType,
)
from ._fully_shard import FSDPModule, fully_shard
from ._optim_states import OptimStateKeyType, plain_name, to_host  # noqa: F401
from ._policies import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy
from ._state_types import OptimStates, StateTypes
from .wrap import shard_below

_INNER = "_fsdp_wrapped_module."  # what names of modules have, states have not
_NAMES = "replicate", "shard"
_WHOLE = ShardingStrategy.NO_SHARD
_HYBRID = ShardingStrategy.HYBRID_SHARD, ShardingStrategy._HYBRID_SHARD_ZERO2
_KEEP = _WHOLE, ShardingStrategy.SHARD_GRAD_OP, ShardingStrategy._HYBRID_SHARD_ZERO2


class FullyShardedDataParallel(Module, StateTypes, OptimStates):
    """A module whose parameters lie over the ranks, and with `auto_wrap_policy` those of modules
    below it by themselves."""

    def __init__(self, module, process_group=None, sharding_strategy=None, cpu_offload=None,
                 auto_wrap_policy=None, backward_prefetch=None, mixed_precision=None,
                 ignored_modules=None, param_init_fn=None, device_id=None,
                 sync_module_states=False, forward_prefetch=False, limit_all_gathers=True,
                 use_orig_params=False, ignored_states=None, device_mesh=None):  # fmt: skip
        super().__init__()
        if param_init_fn is not None:
            raise NotImplementedError(
                "FullyShardedDataParallel: param_init_fn is unsupported; initialize the module "
                "before it is wrapped"
            )
        strategy = sharding_strategy or ShardingStrategy.FULL_SHARD
        mesh = _mesh(strategy, process_group, device_mesh, module, device_id)
        if device_id is not None:
            module.to(_device(device_id))
        if sync_module_states:
            _copy_from_first(module, mesh)
        self._fsdp_wrapped_module = module
        self._kind, self._config = StateDictType.FULL_STATE_DICT, FullStateDictConfig()
        self._optim_config = FullOptimStateDictConfig()
        self.register_load_state_dict_pre_hook(_before_load)
        self.register_load_state_dict_post_hook(_after_load)
        keeps = strategy in _KEEP
        options = {
            "mesh": mesh,
            "reshard_after_forward": False if keeps else None,
            "offload_policy": CPUOffloadPolicy()
            if cpu_offload is not None and cpu_offload.offload_params
            else OffloadPolicy(),
        }
        ignored = _ignored(ignored_modules, ignored_states)
        inner, outer = _dtypes(mixed_precision, module)
        if auto_wrap_policy is not None:
            shard_below(module, auto_wrap_policy, ignored, mp_policy=inner, **options)
        fully_shard(module, ignored_params=ignored, mp_policy=outer, **options)

    module = property(lambda self: self._fsdp_wrapped_module)

    def forward(self, *args, **kwargs):
        return self._fsdp_wrapped_module(*args, **kwargs)

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("_fsdp_wrapped_module"), name)

    def __getitem__(self, key):
        return self._fsdp_wrapped_module[key]

    def clip_grad_norm_(self, max_norm, norm_type=2.0):
        """Scales all gradients by their joint norm over all ranks, which it returns."""
        total = clip_grad_norm_(self.parameters(), max_norm, norm_type)
        return total.full_tensor() if isinstance(total, DTensor) else total

    @contextlib.contextmanager
    def no_sync(self):
        """A block whose backwards reduce no gradients."""
        self.module.set_requires_gradient_sync(False)
        try:
            yield
        finally:
            self.module.set_requires_gradient_sync(True)

    # ---- states

    def state_dict(self, *args, destination=None, prefix="", keep_vars=False):
        """The module's, whole on all ranks, or as the state dict type says; a collective."""
        if args:
            destination, prefix, keep_vars = (*args, *(destination, prefix, keep_vars)[len(args) :])
        others = set(destination or ())  # of a module around this one
        named = {"destination": destination, "prefix": prefix, "keep_vars": keep_vars}
        found = self._fsdp_wrapped_module.state_dict(**named)
        full = self._kind is StateDictType.FULL_STATE_DICT
        for key in [key for key in found if key not in others]:
            value = found[key]
            if full and isinstance(value, DTensor):
                value = value.full_tensor().detach()
            if self._config.offload_to_cpu and hasattr(value, "cpu"):
                value = to_host(value)
            found[key] = value
        if full and getattr(self._config, "rank0_only", False) and world().rank():
            for key in [key for key in found if key not in others]:
                del found[key]
        return found

    def load_state_dict(self, state_dict, strict=True, assign=False):
        """Of whole tensors, each rank takes its part."""
        laid = _laid(self, state_dict)
        return self._fsdp_wrapped_module.load_state_dict(laid, strict, assign)

    @staticmethod
    @contextlib.contextmanager
    def summon_full_params(module, recurse=True, writeback=True, rank0_only=False,
                           offload_to_cpu=False, with_grads=False):  # fmt: skip
        """A block in which parameters are whole; what is written into them on a rank changes its
        part."""
        if rank0_only or offload_to_cpu or with_grads:
            raise NotImplementedError(
                "summon_full_params: rank0_only, offload_to_cpu and with_grads are unsupported; "
                "full_tensor() of a parameter or its gradient gives the whole"
            )
        states = _states(getattr(module, "_fsdp_wrapped_module", module))
        for state in states:
            state.group.free()  # they may be there in the dtype of forward, which would be kept
            state.group.gather(as_kept=True)
        try:
            yield
        finally:
            for state in states:
                if writeback:
                    state.group.take_back()
                state.group.free()


def _states(module):
    """Those of `fully_shard` at and below a module."""
    return [s for m in module.modules() if isinstance(m, FSDPModule) for s in m._states(False)]


def _laid(wrapper, state_dict):
    """The state dict of the wrapped module, its whole tensors laid as the parameters are."""
    for state in _states(wrapper):
        state.group.free()
    inner = wrapper._fsdp_wrapped_module.named_parameters(remove_duplicate=False)
    mine, laid = {plain_name(name): p for name, p in inner}, {}
    for key, value in state_dict.items():
        own = mine.get(key)
        if isinstance(own, DTensor) and not isinstance(value, DTensor):
            placed = own.device_mesh, own.placements
            value = distribute_tensor(value.detach(), *placed, src_data_rank=None).to(own.device)
        laid[key] = value
    return laid


def _before_load(wrapper, state_dict, prefix, *_):
    """A module around the wrapper loads: what is the wrapped module's goes there."""
    mine = {k[len(prefix) :]: v for k, v in state_dict.items() if k.startswith(prefix)}
    for key, value in _laid(wrapper, mine).items():
        if not key.startswith(_INNER):
            del state_dict[prefix + key]
            state_dict[prefix + _INNER + key] = value


def _after_load(wrapper, found):
    """Tells names as states have them."""
    for keys in (found.missing_keys, found.unexpected_keys):
        keys[:] = [key.replace(_INNER, "") for key in keys]


def _device(device_id):
    return device_type("cuda", device_id) if isinstance(device_id, int) else device_type(device_id)


def _mesh(strategy, group, mesh, module, device_id):
    """The mesh over the ranks, of two dimensions where parts have copies."""
    if device_id is not None:
        kind = _device(device_id).type
    else:
        first = next(module.parameters(), None)
        on_gpu = first is not None and first.is_cuda
        kind = "cuda" if on_gpu or cuda.is_available() else "cpu"
    if strategy in _HYBRID:
        if mesh is not None and mesh.ndim == 2:
            return mesh
        if isinstance(group, (tuple, list)) and len(group) == 2:
            return _of_pair(*group, kind)
        if mesh is None and group is None:
            return _of_machines(strategy, kind)
        raise ValueError(
            f"{strategy} needs a device_mesh of two dimensions, "
            "init_device_mesh(device, (copies, parts)), or process_group=(group of the parts, "
            "group of the copies), or neither: then the ranks of a machine have the parts"
        )
    if strategy is _WHOLE:
        whole = member_of(group, "FullyShardedDataParallel") if mesh is None else mesh.get_group()
        alone = new_group([world().rank()], use_local_synchronization=True)
        lines = [[rank] for rank in get_process_group_ranks(whole)]
        return DeviceMesh.from_group([whole, alone], kind, lines, mesh_dim_names=_NAMES)
    if mesh is not None:
        return mesh
    return DeviceMesh.from_group(member_of(group, "FullyShardedDataParallel"), kind)


def _of_machines(strategy, kind):
    """The mesh whose lines are the ranks of one machine each, as the launcher has put them. Ranks
    tell each other of how many their machine has: who made other groups than they would wait."""
    size, gpus = world().size(), cuda.device_count() if kind == "cuda" else 0
    said = os.environ.get("LOCAL_WORLD_SIZE") or str(gpus)
    own = tensor([int(said) if said.isdecimal() else 0], device=carrier(world()))
    found = [empty_like(own) for _ in range(size)]
    all_gather(found, own)
    machines = sorted({int(one) for one in found})
    parts = machines[0]
    if len(machines) > 1 or parts < 1 or size % parts:
        said = " or ".join(map(str, machines)) + " ranks on a machine"
        said = said if machines[-1] > 0 else "no LOCAL_WORLD_SIZE in the environment"
        raise ValueError(
            f"{strategy} without a device_mesh puts parts on the ranks of a machine, all of which "
            f"have alike many; there are {size} ranks and {said}. The launcher sets "
            "LOCAL_WORLD_SIZE; or give device_mesh=init_device_mesh(device, (copies, parts))"
        )
    return init_device_mesh(kind, (size // parts, parts), mesh_dim_names=_NAMES)


def _of_pair(parts, copies, kind):
    """The mesh of a group whose ranks have the parts and of one whose ranks have the same part."""
    own = tensor(get_process_group_ranks(parts), device=carrier(copies))
    lines = [empty_like(own) for _ in range(copies.size())]
    all_gather(lines, own, copies)
    lines = [line.tolist() for line in lines]
    return DeviceMesh.from_group([copies, parts], kind, lines, mesh_dim_names=_NAMES)


@no_grad()
def _copy_from_first(module, mesh):
    for t in (*module.parameters(), *module.buffers()):
        for i in range(mesh.ndim):
            broadcast(t.detach(), group=mesh.get_group(i), group_src=0)


def _ignored(modules, states):
    """Parameters that stay as they are."""
    found = set()
    for value in (*(modules or ()), *(states or ())):
        found |= set(value.parameters()) if isinstance(value, Module) else {value}
    return found


def _dtypes(given, module):
    """The policies of modules below and of the outermost one."""
    if given is None:
        return MixedPrecisionPolicy(), MixedPrecisionPolicy()
    if given.buffer_dtype is not None:
        for part in module.modules():
            for name, buffer in part._buffers.items():
                if buffer is not None and buffer.is_floating_point():
                    part._buffers[name] = buffer.to(given.buffer_dtype)
    low = given.param_dtype, given.reduce_dtype or given.param_dtype, None
    return (
        MixedPrecisionPolicy(*low, given.cast_forward_inputs),
        MixedPrecisionPolicy(*low, given.cast_root_forward_inputs),
    )
