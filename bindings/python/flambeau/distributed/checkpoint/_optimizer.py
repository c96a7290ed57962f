"""An optimizer's state dict by the names of its parameters, and back to their numbers; and a first
step that changes nothing, which makes the state that there is to load into."""

from ..._tensor import Tensor
from ..._torch import zeros_like


def _parameters(optimizer):
    return [p for group in optimizer.param_groups for p in group["params"]]


def initialized(optimizer):
    """Makes the state of an optimizer that has none, as its first step does: gradients and learning
    rates are zero meanwhile."""
    parameters = _parameters(optimizer)
    if optimizer.state or any(p.grad is not None for p in parameters):
        return
    rates = [group["lr"] for group in optimizer.param_groups if "lr" in group]
    try:
        for p in parameters:
            if p.requires_grad:
                p.grad = zeros_like(p)
        for group in optimizer.param_groups:
            if "lr" in group:
                rate = group["lr"]
                group["lr"] = zeros_like(rate) if isinstance(rate, Tensor) else 0.0
        optimizer.step()
    finally:
        for group in optimizer.param_groups:
            if "lr" in group:
                group["lr"] = rates.pop(0)
        optimizer.zero_grad(set_to_none=True)


def named(optimizer, names):
    """The state dict with names for numbers."""
    packed, parameters = optimizer.state_dict(), _parameters(optimizer)
    for p in parameters:
        if p not in names:
            raise ValueError(
                f"a parameter of shape {list(p.shape)} of the optimizer is none of the model's"
            )
    of_number = {i: names[p] for i, p in enumerate(parameters)}
    groups = [
        {**group, "params": [of_number[i] for i in group["params"]]}
        for group in packed["param_groups"]
    ]
    return {"state": {of_number[i]: s for i, s in packed["state"].items()}, "param_groups": groups}


def numbered(optimizer, every, state, strict):
    """The part of a state dict with names that is this optimizer's, with its numbers. `every` has
    the names of each parameter; any of them will do."""
    values, groups, number = {}, [], 0
    group_of = {name: group for group in state["param_groups"] for name in group["params"]}
    for group in optimizer.param_groups:
        numbers, saved_group = [], None
        for p in group["params"]:
            mine = next((n for n in every.get(p, ()) if n in group_of), None)
            if mine is None:
                raise RuntimeError(
                    f"Missing parameter group of {every.get(p, ['a parameter'])[0]} in the "
                    "optimizer's state dict"
                )
            saved_group = group_of[mine]
            if mine in state["state"]:
                values[number] = state["state"][mine]
            elif p.requires_grad and strict and optimizer.state.get(p):
                raise RuntimeError(
                    f"Missing optimizer state for parameter '{mine}' in checkpoint. The parameter "
                    "requires gradients but has no saved optimizer state. To load anyway, use "
                    "StateDictOptions(strict=False)."
                )
            numbers.append(number)
            number += 1
        saved_group = saved_group or {k: v for k, v in group.items() if k != "params"}
        groups.append({**saved_group, "params": numbers})
    return {"state": values, "param_groups": groups}


# ---- one level


def flattened(state):
    """One level: `state.<parameter>.<name>` and `param_groups.<parameter>.<option>`."""
    found = {
        f"state.{name}.{key}": value
        for name, own in state["state"].items()
        for key, value in own.items()
    }
    for group in state["param_groups"]:
        for name in group["params"]:
            for key, value in group.items():
                if key != "params":
                    found[f"param_groups.{name}.{key}"] = value
    return found


def unflattened(flat):
    """Two levels again; parameters with the same options share a group."""
    state, options = {}, {}
    for name, value in flat.items():
        kind, _, rest = name.partition(".")
        parameter, _, key = rest.rpartition(".")
        where = {"state": state, "param_groups": options}.get(kind)
        if where is None or not parameter:
            raise ValueError(f"{name!r} is no name in a flat state dict of an optimizer")
        where.setdefault(parameter, {})[key] = value
    return {"state": state, "param_groups": [{**v, "params": [n]} for n, v in options.items()]}
