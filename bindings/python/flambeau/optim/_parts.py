"""Steps of parameters of which this rank has a part (DTensors): the rule runs on the parts, where
it asks nothing of other elements. State is kept as tensors that lie as the parameter does."""

from .._errors import UnsupportedError


def update_parts(optimizer, group, params, grads):
    """Changes this rank's parts in place."""
    name = type(optimizer).__name__
    if not optimizer._elementwise or group.get("differentiable"):
        raise UnsupportedError(
            f"{name} of a DTensor is unsupported: its step asks for more than a part, or is "
            "recorded\n  SGD, Adam, AdamW and the others that treat each element by itself do"
        )
    if any(p.placements != g.placements for p, g in zip(params, grads)):
        raise UnsupportedError(f"{name}: a gradient lies otherwise than its parameter")
    parts, state = [p._local_tensor for p in params], optimizer.state
    for p, part in zip(params, parts):
        held = state.pop(p, None)
        if held:
            state[part] = {k: getattr(v, "_local_tensor", v) for k, v in held.items()}
    try:
        optimizer._update(group, parts, [g._local_tensor for g in grads])
    finally:
        numbers = optimizer._cell_names
        for p, part in zip(params, parts):
            held = state.pop(part, None)
            if held:
                state[p] = {
                    k: v if k in numbers or not hasattr(v, "_h") else p._with_local(v)
                    for k, v in held.items()
                }
