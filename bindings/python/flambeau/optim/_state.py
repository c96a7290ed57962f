"""State dicts of optimizers: parameters by number, as PyTorch writes and reads them."""

from collections import defaultdict
from copy import copy
from itertools import chain

from .._tensor import Tensor
from .._torch import float32, tensor


def packed(optimizer):
    """Groups and state with parameters numbered across groups."""
    numbers, groups = {}, []
    for group in optimizer.param_groups:
        for p in group["params"]:
            numbers.setdefault(id(p), len(numbers))
        rest = {k: v for k, v in group.items() if k != "params"}
        groups.append({**rest, "params": [numbers[id(p)] for p in group["params"]]})
    state = {numbers[id(p)] if isinstance(p, Tensor) else p: v for p, v in optimizer.state.items()}
    return {"state": state, "param_groups": groups}


def unpacked(optimizer, state_dict):
    """The state and groups that `optimizer` should take over."""
    ours, groups = optimizer.param_groups, [_copied(g) for g in state_dict["param_groups"]]
    if len(groups) != len(ours):
        raise ValueError("loaded state dict has a different number of parameter groups")
    if any(len(a["params"]) != len(b["params"]) for a, b in zip(ours, groups)):
        raise ValueError(
            "loaded state dict contains a parameter group that doesn't match the size of "
            "optimizer's group"
        )
    params = chain.from_iterable(g["params"] for g in ours)
    by_number = dict(zip(chain.from_iterable(g["params"] for g in groups), params))
    state = defaultdict(dict)
    for number, value in state_dict["state"].items():
        p = by_number.get(number)
        state[number if p is None else p] = value if p is None else fitted(optimizer, p, value)
    for old, new in zip(ours, groups):
        new["params"] = old["params"]
        if "param_names" in old and "param_names" not in new:
            new["param_names"] = old["param_names"]
    return state, groups


def _copied(group):
    return {k: list(v) if isinstance(v, list) else copy(v) for k, v in group.items()}


def fitted(optimizer, p, value, key=None):
    """Loaded state on the parameter's device and in its dtype; numbers that the library keeps in
    cells in f32."""
    if key in optimizer._cell_names:
        return cell(value, p)
    if isinstance(value, Tensor):
        value = value.detach()
        if p.is_floating_point():
            return value.to(p.device, p.dtype, copy=True)
        return value.to(p.device, copy=True)
    if isinstance(value, dict):
        return {k: fitted(optimizer, p, v, k) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(fitted(optimizer, p, v) for v in value)
    return value


def cell(value, p):
    """A number as the library reads it: one f32 on the parameter's device."""
    if isinstance(value, Tensor):
        return value.detach().reshape(()).to(p.device, float32, copy=True)
    return tensor(float(value), dtype=float32, device=p.device)
