"""State dicts of a model and its optimizers by the names that parameters have in the module itself,
whatever wraps it, so that a checkpoint fits another wrapping, sharding or number of ranks. The
optimizer's state is named by parameter, not numbered."""

from dataclasses import dataclass
from typing import Any

from ..._errors import UnsupportedError
from ..._tensor import Tensor
from ..._torch import no_grad
from ...nn.modules.module import Module
from ...nn.parallel import DistributedDataParallel
from ...optim.optimizer import Optimizer
from . import _full
from ._optimizer import flattened, initialized, named, numbered, unflattened

__all__ = [
    "StateDictOptions",
    "get_model_state_dict",
    "get_optimizer_state_dict",
    "get_state_dict",
    "set_model_state_dict",
    "set_optimizer_state_dict",
    "set_state_dict",
]

_init_optim_state = initialized  # programs import it by this name
FQNS_T = set[str]
PrimitiveType = Tensor | int | float | str
ValueType = PrimitiveType | list[PrimitiveType] | tuple[PrimitiveType, ...] | dict[str, Any]
DictValueType = dict[str, ValueType]
ListDictValueType = list[DictValueType]
OptimizerStateType = dict[str, DictValueType | ListDictValueType]
_WRAPPERS = "_fsdp_wrapped_module", "_checkpoint_wrapped_module", "_orig_mod"


@dataclass
class StateDictOptions:
    """`full_state_dict`: tensors whole, on every rank. `cpu_offload`: in the host's memory; with
    the former, on rank 0 alone, others get an empty dict. `ignore_frozen_params` leaves out those
    that need no gradient. `strict`: as of `load_state_dict`. `broadcast_from_rank0`: rank 0 has
    the full state dict that is set, and sends it. `flatten_optimizer_state_dict`: one level of
    names, `state.<parameter>.<name>`."""

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


def _checked(model, options, submodules=None):
    if not isinstance(model, Module):
        raise TypeError(f"model must be a torch.nn.Module, got {type(model).__name__}")
    if submodules:
        raise UnsupportedError(
            "submodules, deprecated in torch, are unsupported: take the names that you want from "
            "the result"
        )
    options = options or StateDictOptions()
    if options.broadcast_from_rank0 and not options.full_state_dict:
        raise ValueError("full_state_dict must be True when broadcast_from_rank0 is True.")
    return options


def _listed(optimizers):
    return [optimizers] if isinstance(optimizers, Optimizer) else list(optimizers)


def _plain_name(model, name):
    """The name without the steps into what wraps modules."""
    here, kept = model, []
    for step in name.split("."):
        wrapped = step in _WRAPPERS or (
            step == "module" and isinstance(here, DistributedDataParallel)
        )
        if not wrapped:
            kept.append(step)
        here = getattr(here, step, None)
    return ".".join(kept)


def _parameters(model):
    """The names of each parameter: tied ones have several."""
    found = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        found.setdefault(parameter, []).append(_plain_name(model, name))
    return found


# ---- from the model and its optimizers


@no_grad()
def _model_state(model, options):
    found = {_plain_name(model, name): value for name, value in model.state_dict().items()}
    if options.ignore_frozen_params:
        for parameter, names in _parameters(model).items():
            if not parameter.requires_grad:
                for name in names:
                    found.pop(name, None)
    return _full.given(found, options)


@no_grad()
def _optimizer_state(model, optimizers, options):
    names = {p: every[0] for p, every in _parameters(model).items()}
    state = {"state": {}, "param_groups": []}
    for optimizer in optimizers:
        initialized(optimizer)
        own = named(optimizer, names)
        state["state"].update(own["state"])
        state["param_groups"] += own["param_groups"]
    if options.flatten_optimizer_state_dict:
        state = flattened(state)
    return _full.given(state, options)


def get_model_state_dict(model, *, submodules=None, options=None):
    """The model's state dict."""
    return _model_state(model, _checked(model, options, submodules))


def get_optimizer_state_dict(model, optimizers, *, submodules=None, options=None):
    """One state dict for all of the optimizers. An optimizer that has made no step makes one, with
    gradients and a learning rate of zero, so that its state is there to be loaded into."""
    options, optimizers = _checked(model, options, submodules), _listed(optimizers)
    if not optimizers:
        raise RuntimeError("Optimizers are not passed in but optim_only is set to True.")
    return _optimizer_state(model, optimizers, options)


def get_state_dict(model, optimizers, *, submodules=None, options=None):
    """Both state dicts."""
    options, optimizers = _checked(model, options, submodules), _listed(optimizers)
    return _model_state(model, options), (
        _optimizer_state(model, optimizers, options) if optimizers else {}
    )


# ---- and back


@no_grad()
def _set_model(model, state, options):
    own = model.state_dict()
    plain = {_plain_name(model, name): name for name in own}
    if options.full_state_dict:
        state = _full.taken(state, {n: own[w] for n, w in plain.items()}, options)
    wrapped = {plain.get(name, name): value for name, value in state.items()}
    if (
        options.full_state_dict
    ):  # what is on meta gets memory, what has memory stays the same object
        absent = [name for name, value in own.items() if getattr(value, "is_meta", False)]
        made = {name: wrapped[name] for name in absent if name in wrapped}
        if made:
            model.load_state_dict(made, strict=False, assign=True)
    return model.load_state_dict(wrapped, strict=options.strict)


@no_grad()
def _set_optimizers(model, optimizers, state, options):
    every = _parameters(model)
    for optimizer in optimizers:
        initialized(optimizer)
    if options.full_state_dict:
        names = {p: one[0] for p, one in every.items()}
        own = {"state": {}}
        for optimizer in optimizers:
            own["state"].update(named(optimizer, names)["state"])
        flat = options.flatten_optimizer_state_dict
        state = _full.taken(state, flattened({**own, "param_groups": []}) if flat else own, options)
    if "state" not in state:
        state = unflattened(state)
    for optimizer in optimizers:
        optimizer.load_state_dict(numbered(optimizer, every, state, options.strict))


def set_model_state_dict(model, model_state_dict, *, options=None):
    """Loads what `get_model_state_dict` gave; the keys that were missing or unexpected."""
    return _set_model(model, model_state_dict, _checked(model, options))


def set_optimizer_state_dict(model, optimizers, optim_state_dict, *, options=None):
    """Loads what `get_optimizer_state_dict` gave."""
    options, optimizers = _checked(model, options), _listed(optimizers)
    if not optimizers:
        raise RuntimeError("Optimizers are not passed in but optim_only is set to True.")
    _set_optimizers(model, optimizers, optim_state_dict, options)


def set_state_dict(model, optimizers, *, model_state_dict: dict[str, Any],
                   optim_state_dict: dict[str, Any], options=None):  # fmt: skip
    """Loads what `get_state_dict` gave; the model's keys that were missing or unexpected."""
    options, optimizers = _checked(model, options), _listed(optimizers)
    found = _set_model(model, model_state_dict, options)
    if optimizers:
        _set_optimizers(model, optimizers, optim_state_dict, options)
    return found
