"""Rules of operations that move elements: views, indexing, splitting and joining.

What cuts or joins along a dimension wants it whole; a reshape keeps the cut of the leading
dimension of those that become one, where all pieces are alike large."""

from math import prod

from ..._gen import ops
from ..._tensor import Tensor
from ..._types import dtype as dtype_type
from ._dtensor import DTensor, refused
from ._plan import Plan, carried_out

ONE = (frozenset((0,)),)


def labelled(x):
    return tuple(range(x.ndim))


def front(dim, n_dims):
    """A dimension that counts from the front; one out of range is left to the operation itself."""
    return dim % n_dims if n_dims and -n_dims <= dim < n_dims else dim


def moved(func, x, labels, out, run, **more):
    """An operation of one tensor that moves elements."""
    name = getattr(func, "__name__", "")
    return carried_out(
        Plan(name, [x], [tuple(labels)], tuple(out), run, terms=ONE, moves=True, **more)
    )


def numbers_of(given):
    """`*sizes` or one sequence of them."""
    one = given[0] if len(given) == 1 else None
    return tuple(one) if isinstance(one, (tuple, list)) else tuple(given)


def sizes_of(given, named, *names):
    """The same, by place or by one of these names."""
    return numbers_of(given or (next((named[name] for name in names if name in named), ()),))


# ---- reshapes


def _groups(given, wanted):
    """Runs of dimensions of both shapes that hold the same elements."""
    i = j = 0
    while i < len(given) or j < len(wanted):
        a, b = [], []
        n = m = 1
        if i < len(given):
            a, n, i = [i], given[i], i + 1
        if j < len(wanted):
            b, m, j = [j], wanted[j], j + 1
        while n != m and (i < len(given) or j < len(wanted)):
            if (n < m or j == len(wanted)) and i < len(given):
                a, n, i = [*a, i], n * given[i], i + 1
            elif j < len(wanted):
                b, m, j = [*b, j], m * wanted[j], j + 1
            else:
                break
        yield a, b


def reshaped(func, x, shape):
    """A tensor of another shape, which may have a -1."""
    shape, given = list(shape), tuple(x.shape)
    if shape.count(-1) == 1:
        rest = prod(n for n in shape if n != -1)
        shape[shape.index(-1)] = x.numel() // rest if rest else 0
    if prod(shape) != x.numel() or any(n < 0 for n in shape):
        raise RuntimeError(f"shape '{shape}' is invalid for input of size {x.numel()}")
    labels, out, even, sizes = [None] * len(given), [None] * len(shape), set(), {}
    ranks = x.device_mesh.size()
    for a, b in _groups(given, shape) if x.numel() else ():
        a = [d for d in a if given[d] != 1] or a[:1]
        b = [d for d in b if shape[d] != 1] or b[:1]
        if not a or not b:
            continue
        alike = len(a) == len(b) == 1
        if alike or shape[b[0]] % ranks == 0:
            labels[a[0]] = out[b[0]] = a[0]
            sizes[b[0]] = shape[b[0]]
            even |= set() if alike else {a[0]}
    return moved(
        func, x, labels, out, lambda ps, lies: ps[0].reshape(lies(shape)),
        even=frozenset(even), sizes=sizes,
    )  # fmt: skip


def view(func, input, *shape, **named):
    shape = sizes_of(shape, named, "shape", "size")
    if shape and isinstance(shape[0], dtype_type):
        raise refused("view in another dtype")
    return reshaped(func, input, shape)


def view_as(func, input, other):
    return reshaped(func, input, other.shape)


def flatten(func, input, start_dim=0, end_dim=-1):
    n = input.ndim
    first, last = (front(d, n) for d in (start_dim, end_dim))
    if n and not 0 <= first <= last < n:
        return gathered(func, input, start_dim, end_dim)
    shape = input.shape
    return reshaped(
        func, input, (*shape[:first], prod(shape[first : last + 1]), *shape[last + 1 :])
    )


def unflatten(func, input, dim, sizes):
    d, sizes = front(dim, input.ndim), list(sizes)
    if sizes.count(-1) == 1:
        sizes[sizes.index(-1)] = input.shape[d] // max(prod(n for n in sizes if n != -1), 1)
    return reshaped(func, input, (*input.shape[:d], *sizes, *input.shape[d + 1 :]))


def squeeze(func, input, dim=None):
    n = input.ndim
    dims = range(n) if dim is None else dim if isinstance(dim, (tuple, list)) else (dim,)
    dims = {front(d, n) for d in dims}
    return reshaped(func, input, [s for d, s in enumerate(input.shape) if s != 1 or d not in dims])


def unsqueeze(func, input, dim):
    d = front(dim, input.ndim + 1)
    if not 0 <= d <= input.ndim:
        return gathered(func, input, dim)
    return reshaped(func, input, (*input.shape[:d], 1, *input.shape[d:]))


def expand(func, input, *size, **named):
    size = list(numbers_of(size or (named["size"],)))
    new = len(size) - input.ndim
    for d, n in enumerate(input.shape):
        size[new + d] = n if size[new + d] == -1 else size[new + d]
    labels = [d if n == size[new + d] else None for d, n in enumerate(input.shape)]
    return moved(
        func, input, labels, (*[None] * new, *labels), lambda ps, lies: ps[0].expand(lies(size))
    )


def expand_as(func, input, other):
    return expand(func, input, *other.shape)


# ---- orders of dimensions


def _ordered(func, x, order, *args):
    return moved(func, x, labelled(x), order, lambda ps, _: func(ps[0], *args))


def transpose(func, input, dim0, dim1):
    order = list(labelled(input))
    a, b = front(dim0, input.ndim), front(dim1, input.ndim)
    if order and max(a, b) < len(order) and min(a, b) >= 0:
        order[a], order[b] = order[b], order[a]
    return _ordered(func, input, order, dim0, dim1)


def reversed_dims(func, input):
    """`t` and `T`."""
    return _ordered(func, input, labelled(input)[::-1])


def last_two(func, input):
    """`mT`."""
    return _ordered(func, input, (*labelled(input)[:-2], *labelled(input)[-2:][::-1]))


def permute(func, input, *dims, **named):
    dims = numbers_of(dims or (named["dims"],))
    return _ordered(func, input, [front(d, input.ndim) for d in dims], dims)


def movedim(func, input, source, destination):
    source, destination = (
        [front(d, input.ndim) for d in (v if isinstance(v, (tuple, list)) else (v,))]
        for v in (source, destination)
    )
    order = [d for d in labelled(input) if d not in source]
    for at, d in sorted(zip(destination, source)):
        order.insert(at, d)
    return _ordered(func, input, order, source, destination)


# ---- pieces


def gathered(func, *args, **kwargs):
    """Every rank has the operands whole, and so the result."""
    tensors = [value for value in args if isinstance(value, Tensor)]
    places = [k for k, value in enumerate(args) if isinstance(value, Tensor)]

    def run(ps, _):
        given = list(args)
        for k, part in zip(places, ps):
            given[k] = part
        return func(*given, **kwargs)

    return carried_out(Plan(func.__name__, tensors, [(None,) * t.ndim for t in tensors], (), run))


def along(func, x, dims, run, drops=False):
    """An operation that wants some dimensions whole and leaves them, or drops them."""
    dims = {front(d, x.ndim) for d in dims}
    labels = [None if d in dims else d for d in labelled(x)]
    out = [d for d in labels if d is not None] if drops else labels
    return moved(func, x, labels, out, run)


def get(func, input, index):
    """Indexing; by tensors or truth values, where they say at once which dimensions come out."""
    items = index if isinstance(index, tuple) else (index,)
    plain = (int, slice, type(None), type(Ellipsis))
    if any(isinstance(item, bool) or not isinstance(item, plain) for item in items):
        whole = [item for item in items if isinstance(item, Tensor)]

        def run(ps, _):
            rest = iter(ps[1:])
            given = tuple(next(rest) if isinstance(i, Tensor) else i for i in items)
            return func(ps[0], given if isinstance(index, tuple) else given[0])

        tensors = [input, *whole]
        return carried_out(Plan("get", tensors, [(None,) * t.ndim for t in tensors], (), run))
    taken = sum(item is not None and item is not Ellipsis for item in items)
    labels, out, d = list(labelled(input)), [], 0
    rest = slice(None)
    for item in (*items, *(() if Ellipsis in items else (Ellipsis,))):
        if item is None:
            out.append(None)
        elif item is Ellipsis:
            out += range(d, d + input.ndim - taken)
            d += max(input.ndim - taken, 0)
        elif d < input.ndim:
            labels[d] = d if item == rest else None
            out += [] if isinstance(item, int) else [labels[d]]
            d += 1
    return moved(func, input, labels, out, lambda ps, _: func(ps[0], index))


def select(func, input, dim, index):
    return along(func, input, (dim,), lambda ps, _: func(ps[0], dim, index), drops=True)


def narrow(func, input, dim, start, length):
    return along(func, input, (dim,), lambda ps, _: func(ps[0], dim, start, length))


def split(func, input, size, dim=0):
    return along(func, input, (dim,), lambda ps, _: func(ps[0], size, dim))


def chunk(func, input, chunks, dim=0):
    return along(func, input, (dim,), lambda ps, _: func(ps[0], chunks, dim))


def tensor_split(func, input, indices_or_sections, dim=0):
    if isinstance(indices_or_sections, Tensor):
        return gathered(func, input, indices_or_sections, dim=dim)
    return along(func, input, (dim,), lambda ps, _: func(ps[0], indices_or_sections, dim))


def unbind(func, input, dim=0):
    return along(func, input, (dim,), lambda ps, _: ps[0].unbind(dim), drops=True)


def iterated(func, input):
    return iter(unbind(func, input))


def flip(func, input, *dims, **named):
    dims = numbers_of(dims or (named["dims"],))
    return along(func, input, dims, lambda ps, _: func(ps[0], dims))


def cat(func, tensors, dim=0):
    tensors = list(tensors)
    n = tensors[0].ndim
    d = front(dim, n)
    labels = tuple(None if i == d else i for i in range(n))
    if any(t.ndim != n for t in tensors):  # empty ones
        each = [(None,) * t.ndim for t in tensors]
    else:
        each = [labels] * len(tensors)
    together = (frozenset(range(len(tensors))),)
    return carried_out(
        Plan("cat", tensors, each, labels, lambda ps, _: func(ps, dim), terms=together, moves=True)
    )


def stack(func, tensors, dim=0):
    tensors = list(tensors)
    labels = labelled(tensors[0])
    d = front(dim, len(labels) + 1)
    out, together = (*labels[:d], None, *labels[d:]), (frozenset(range(len(tensors))),)
    each = [labels] * len(tensors)
    return carried_out(
        Plan("stack", tensors, each, out, lambda ps, _: func(ps, dim), terms=together, moves=True)
    )


def _with_shape(func, t, shape):
    return reshaped(func, t, shape) if isinstance(t, DTensor) else t.reshape(shape)


def hstack(func, tensors):
    tensors = [t if t.ndim else _with_shape(func, t, (1,)) for t in tensors]
    return cat(ops.TORCH["cat"], tensors, 0 if tensors[0].ndim == 1 else 1)


def vstack(func, tensors):
    rows = [t if t.ndim > 1 else _with_shape(func, t, (1, t.numel())) for t in tensors]
    return cat(ops.TORCH["cat"], rows)


def view_as_complex(func, input):
    if not input.ndim:
        return gathered(func, input)
    own = labelled(input)[:-1]
    return moved(func, input, (*own, None), own, lambda ps, _: func(ps[0]))


def view_as_real(func, input):
    own = labelled(input)
    return moved(func, input, own, (*own, None), lambda ps, _: func(ps[0]))


RULES = dict.fromkeys(("view", "reshape"), view)
RULES |= dict.fromkeys(("vstack", "row_stack"), vstack)
RULES |= dict.fromkeys(("view_as", "reshape_as"), view_as)
RULES |= dict.fromkeys(("transpose", "swapaxes", "swapdims"), transpose)
RULES |= dict.fromkeys(("t", "T"), reversed_dims)
RULES |= dict.fromkeys(("transposed", "mT"), last_two)
RULES |= dict.fromkeys(("movedim", "moveaxis"), movedim)
RULES |= dict.fromkeys(("cat", "concat", "concatenate"), cat)
RULES |= {
    "flatten": flatten, "unflatten": unflatten, "squeeze": squeeze, "unsqueeze": unsqueeze,
    "expand": expand, "expand_as": expand_as, "permute": permute, "get": get, "select": select,
    "narrow": narrow, "split": split, "chunk": chunk, "unbind": unbind, "__iter__": iterated,
    "hstack": hstack, "tensor_split": tensor_split,
    "flip": flip, "stack": stack, "view_as_complex": view_as_complex, "view_as_real": view_as_real,
    "ravel": lambda func, input: reshaped(func, input, (-1,)),
}  # fmt: skip
