"""Rules of operations that repeat, turn or fill up dimensions, and of writing by an index: what is
changed along a dimension wants it whole, the others keep their cuts."""

from ..._tensor import Tensor
from ..._torch import is_grad_enabled
from ._dtensor import refused
from ._plan import Plan, carried_out
from ._rules_shape import ONE, along, gathered, labelled, moved, sizes_of


def repeat(func, input, *repeats, **named):
    """`repeat` and `tile`: a dimension that is there once keeps its cut."""
    given = sizes_of(repeats, named, "repeats", "dims")
    times = (1,) * (input.ndim - len(given)) + given  # as tile fills up
    if len(given) < input.ndim and func.__name__ == "repeat":
        return gathered(func, input, *given)  # says what it lacks
    new = len(times) - input.ndim
    labels = [d if times[new + d] == 1 else None for d in labelled(input)]
    return moved(func, input, labels, (*[None] * new, *labels), lambda ps, _: func(ps[0], given))


def repeat_interleave(func, input, repeats, dim=None, **named):
    if dim is None or isinstance(repeats, Tensor):
        rest = named if dim is None else {"dim": dim} | named
        return gathered(func, input, repeats, **rest)
    return along(func, input, (dim,), lambda ps, _: func(ps[0], repeats, dim, **named))


def roll(func, input, shifts, dims=None):
    if dims is None or isinstance(dims, (tuple, list)) and not dims:
        return gathered(func, input, shifts)
    turned = dims if isinstance(dims, (tuple, list)) else (dims,)
    return along(func, input, turned, lambda ps, _: func(ps[0], shifts, dims))


def pad(func, input, pad, mode="constant", value=None):
    """What is added to needs its dimension whole."""
    pairs = list(zip(pad[::2], pad[1::2]))
    dims = [input.ndim - 1 - i for i, pair in enumerate(pairs) if any(pair) or mode != "constant"]
    keeps = value is None or not value  # of a sum's terms only zeros may be added
    labels = [None if d in dims else d for d in labelled(input)]
    return carried_out(
        Plan("pad", [input], [tuple(labels)], tuple(labels),
             lambda ps, _: func(ps[0], pad, mode, value), terms=ONE if keeps else ())
    )  # fmt: skip


def put(func, input, index, value):
    """Writes into the whole tensor, of which each rank keeps its part."""
    if is_grad_enabled() and (input.requires_grad or getattr(value, "requires_grad", False)):
        raise refused("writing by an index that backward passes")
    if input._layout.partial:
        raise refused("writing by an index into terms of a reduction (Partial)")
    if input.device_mesh.get_coordinate() is None:
        return
    items = [index, value] if not isinstance(index, tuple) else [*index, value]
    *items, value = [i.full_tensor() if hasattr(i, "_layout") else i for i in items]
    whole = input.full_tensor().detach().clone()
    func(whole, tuple(items) if isinstance(index, tuple) else items[0], value)
    input._take_whole(whole)


RULES = {
    "repeat": repeat, "tile": repeat, "repeat_interleave": repeat_interleave, "roll": roll,
    "pad": pad, "__setitem__": put,
}  # fmt: skip
