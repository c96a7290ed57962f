"""State dicts of optimizers by the names of the parameters, as `FullyShardedDataParallel` gives and
takes them: whole, or of DTensors. Its optimizers have the parameters themselves, so nothing is
flattened; values are gathered and laid as their parameters are."""

import copy
import enum

from ..._deprecated import warn
from ..._tensor import Tensor
from ...autograd import no_grad
from .._group import member_of
from .._objects import broadcast_object_list
from ..tensor._distribute import distribute_tensor
from ..tensor._dtensor import DTensor
from ._first_form import WRAPPERS


class OptimStateKeyType(enum.Enum):
    """What parameters are called in a state dict: by names, or by numbers."""

    PARAM_NAME = enum.auto()
    PARAM_ID = enum.auto()


def plain_name(name):
    """A parameter's name without the steps into wrappers."""
    return ".".join(step for step in name.split(".") if step not in WRAPPERS)


def names_of(model):
    """The name of each parameter."""
    return {p: plain_name(name) for name, p in model.named_parameters()}


def _in_order(model, optim):
    """Parameters by their numbers."""
    if optim is None:
        return list(model.parameters())
    return [p for group in optim.param_groups for p in group["params"]]


def to_host(value):
    """A tensor in host memory, of one that lies over ranks this rank's part."""
    if isinstance(value, DTensor):
        return value.detach()._with_local(value._local_tensor.detach().cpu())
    return value.cpu()


def warn_of_old(old, new):
    """As torch does of its older functions."""
    warn(
        f"``FullyShardedDataParallel.{old}``is being deprecated and is replaced by "
        f"``FullyShardedDataParallel.{new}``. ``FullyShardedDataParallel.{old}`` may be removed "
        "after PyTorch 2.2.",
        FutureWarning,
    )


@no_grad()
def given(model, optim, state=None, full=True, rank0_only=False, on_host=True, group=None):
    """The state dict by names; with `rank0_only` empty on the other ranks of the group."""
    dropped = rank0_only and member_of(group, "optim_state_dict").rank() > 0

    def changed(value):
        if not isinstance(value, Tensor):
            return value
        if full and isinstance(value, DTensor):
            value = value.full_tensor()  # all ranks take part
        return to_host(value) if on_host and not dropped else value

    found = rekeyed(optim.state_dict() if state is None else state, True, model, optim)
    found["state"] = {
        name: {key: changed(value) for key, value in own.items()}
        for name, own in found["state"].items()
    }
    return {} if dropped else found


@no_grad()
def taken(model, optim, state, from_first=False, group=None):
    """What the optimizer's `load_state_dict` takes, of a state dict by names or by numbers; with
    `from_first` it is the one of the group's first rank."""
    if from_first:
        told = [state]
        broadcast_object_list(told, group=group, group_src=0)
        state = told[0]
    params = _in_order(model, optim)

    def laid(p, value):
        if not isinstance(p, DTensor) or not isinstance(value, Tensor):
            return value
        if isinstance(value, DTensor) or value.shape != p.shape:
            return value
        placed = p.device_mesh, p.placements
        return distribute_tensor(value.detach(), *placed, src_data_rank=None).to(p.device)

    found = rekeyed(state, False, model, optim)
    found["state"] = {
        number: {key: laid(params[number], value) for key, value in own.items()}
        for number, own in found["state"].items()
    }
    return found


def rekeyed(state, by_name, model, optim):
    """A state dict whose parameters are called by names, or by numbers."""
    kinds = {type(key) for key in state["state"]}
    if len(kinds) > 1:
        raise ValueError(f"Invalid parameter keys: {state['state'].keys()}")
    called = {type(key) for group in state["param_groups"] for key in group["params"]} | kinds
    if called <= {str if by_name else int}:
        return dict(state)
    names, params = names_of(model), _in_order(model, optim)
    absent = [list(p.shape) for p in params if p not in names]
    if absent:
        raise ValueError(f"parameters of shapes {absent} of the optimizer are none of the model's")
    new = [names[p] for p in params] if by_name else {names[p]: i for i, p in enumerate(params)}
    try:
        return {
            "state": {new[key]: own for key, own in state["state"].items()},
            "param_groups": [
                {
                    **copy.deepcopy({k: v for k, v in group.items() if k != "params"}),
                    "params": [new[key] for key in group["params"]],
                }
                for group in state["param_groups"]
            ],
        }
    except (KeyError, IndexError) as error:
        raise KeyError(
            f"the optimizer state dict has a parameter {error.args[0]!r} that the optimizer has not"
        ) from None
