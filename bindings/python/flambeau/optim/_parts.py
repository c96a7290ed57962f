"""Steps of parameters of which this rank has a part (DTensors): the rule runs on the parts, where
it asks nothing of other elements, and else on the whole, one parameter after the other, of which
the rank keeps its part. State is kept as tensors that lie as the parameter does, or whole."""

from .._errors import UnsupportedError


def update_parts(optimizer, group, params, grads):
    """Changes this rank's parts in place."""
    name = type(optimizer).__name__
    if group.get("differentiable"):
        raise UnsupportedError(f"{name} of a DTensor is unsupported with differentiable=True")
    if any(p.placements != g.placements for p, g in zip(params, grads)):
        raise UnsupportedError(f"{name}: a gradient lies otherwise than its parameter")
    if not optimizer._elementwise:
        for p, grad in zip(params, grads):
            _update_whole(optimizer, group, p, grad)
        return
    parts, state = [p._local_tensor for p in params], optimizer.state
    for p, part in zip(params, parts):
        held = state.pop(p, None)
        if held:
            state[part] = {k: getattr(v, "_local_tensor", v) for k, v in held.items()}
    try:
        optimizer._update(group, parts, [g._local_tensor for g in grads])
    finally:
        for p, part in zip(params, parts):
            _keep(optimizer, p, part, p._with_local)


def _keep(optimizer, p, stand_in, laid):
    """Moves the state of a plain tensor to the parameter that it stood for."""
    held, numbers = optimizer.state.pop(stand_in, None), optimizer._cell_names
    if held:
        optimizer.state[p] = {
            k: v if k in numbers or not hasattr(v, "_h") else laid(v) for k, v in held.items()
        }


def _update_whole(optimizer, group, p, grad):
    """The step of a rule that asks for all of a parameter: its rows, or its norm."""
    whole, state = p.detach().full_tensor().clone(), optimizer.state
    held = state.pop(p, None)
    if held:
        state[whole] = {
            k: v.full_tensor().clone() if hasattr(v, "_local_tensor") else v
            for k, v in held.items()
        }
    try:
        optimizer._update(group, [whole], [grad.full_tensor()])
        p._take_whole(whole)
    finally:
        _keep(optimizer, p, whole, p._like_whole)
