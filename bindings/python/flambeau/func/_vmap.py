"""`vmap`: a function of one example as a function of a batch.

The function is called once per example and the results are stacked, so every operation works, in
any nesting with the transforms of this package, and gradients flow through; it is as fast as that
loop, and no faster. How random numbers may be used is checked as torch does."""

from contextlib import contextmanager
from functools import wraps

from .._gen import api, ops
from .._tensor import PASSES, Tensor
from .._types import NAMES
from ..utils._pytree import tree_flatten, tree_leaves, tree_unflatten


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """The function that maps `func` over a dimension of its arguments.

    - `in_dims`: the mapped dimension of every argument, as one int, or nested like the arguments;
      None where an argument is the same for every example.
    - `out_dims`: where the batch stands in the results, one int or one per result; None for a
      result that no example changes.
    - `randomness`: "error", "different" (each example draws its own numbers) or "same".
    - `chunk_size`: as in torch, for memory; examples go one by one here, so it changes nothing.
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            f"Only allowed values for randomness are 'error', 'different', or 'same'. Got "
            f"{randomness}"
        )
    if chunk_size is not None and not chunk_size > 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")
    name = getattr(func, "__name__", repr(func))

    @wraps(func)
    def mapped(*args, **kwargs):
        leaves, spec = tree_flatten(args)
        dims = _input_dims(in_dims, args, leaves, name)
        size = _batch_size(leaves, dims)
        slices = [leaf if d is None else leaf.unbind(d) for leaf, d in zip(leaves, dims)]
        draws = _Draws(randomness, leaves)
        shared = _Shared(leaves, dims, kwargs)
        results = []
        for i in range(size):
            own = [s if d is None else s[i] for s, d in zip(slices, dims)]
            with _graphs_kept(i < size - 1):
                results.append(draws.watch(func, tree_unflatten(own, spec), kwargs))
            if size > 1:
                shared.check(name)
        return _stacked(results, out_dims, name)

    return mapped


class _Shared:
    """The arguments of which there is one for all examples: none may be written, because the next
    example would find it changed."""

    def __init__(self, leaves, dims, kwargs):
        kinds = [
            *zip(leaves, map(self._kind, leaves, dims)),
            *((leaf, "that is given by its name") for leaf in tree_leaves(kwargs)),
        ]
        own = {_memory(leaf) for leaf, kind in kinds if kind is None} - {None}
        # A view of the memory of a mapped argument counts its writes, too: its values tell more.
        self._kept = [
            (t, kind, t._version, t.detach().clone() if _memory(t) in own else None)
            for t, kind in kinds
            if kind is not None and isinstance(t, Tensor)
        ]

    @staticmethod
    def _kind(leaf, d):
        if d is None:
            return "whose in_dim is None"
        one = leaf.stride(d) == 0 and leaf.shape[d] > 1
        return "whose examples share their memory, as those of expand() do" if one else None

    def check(self, name):
        for t, kind, version, before in self._kept:
            if t._version == version or before is not None and _equal_bytes(t, before):
                continue
            raise RuntimeError(
                f"vmap({name}, ...): `{name}` writes in place to an argument {kind}: there is one "
                "of it, which the next example would find changed. Use the operation that is not "
                "in place, or map a copy for each example: x.expand(n, *x.shape).clone()"
            )


def _memory(leaf):
    """Which memory a tensor is in; None where it has none."""
    return leaf.untyped_storage().data_ptr() or None if isinstance(leaf, Tensor) else None


def _equal_bytes(one, other):
    """Whether two tensors hold the same, NaN included."""
    parts = (t.detach().contiguous().flatten().view(NAMES["uint8"]) for t in (one, other))
    return next(parts).equal(next(parts))


@contextmanager
def _graphs_kept(keep):
    """Whether backward passes leave their graphs to the examples that follow: a graph from outside
    is one for all of them, whose one pass frees it in torch."""
    before, PASSES.keeps = PASSES.keeps, PASSES.keeps or keep
    try:
        yield
    finally:
        PASSES.keeps = before


def _spread(dims, tree):
    """One dimension per leaf of `tree`, from dimensions that may stand for whole branches; None
    where the two do not fit."""
    if dims is None or isinstance(dims, int):
        return [dims] * len(tree_leaves(tree))
    if isinstance(dims, dict):
        fits = isinstance(tree, dict) and dims.keys() == tree.keys()
        pairs = [(dims[k], v) for k, v in tree.items()] if fits else None
    else:
        fits = isinstance(dims, (tuple, list)) and type(dims) is type(tree)
        pairs = list(zip(dims, tree)) if fits and len(dims) == len(tree) else None
    parts = pairs and [_spread(d, t) for d, t in pairs]
    return None if pairs is None or None in parts else sum(parts, [])


def _input_dims(in_dims, args, leaves, name):
    if not args:
        raise ValueError(
            f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are "
            "trying to vmap over a function with no inputs. The latter is unsupported."
        )
    where = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): "
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            where + "expected `in_dims` to be int or a (potentially nested) tuple matching the "
            f"structure of inputs, got: {type(in_dims)}."
        )
    dims = _spread(in_dims, args)
    if dims is None:
        raise ValueError(
            where + "in_dims is not compatible with the structure of `inputs`; give one int or "
            "None per argument, or per leaf of it"
        )
    checked = []
    for leaf, d in zip(leaves, dims):
        if d is not None and not isinstance(leaf, Tensor):
            raise ValueError(
                where + f"Got in_dim={d} for an input but the input is of type {type(leaf)}. We "
                "cannot vmap over non-Tensor arguments, please use None as the respective in_dim"
            )
        if d is not None and not -leaf.dim() <= d < leaf.dim():
            raise ValueError(
                where + f"Got in_dim={d} for some input, but that input is a Tensor of "
                f"dimensionality {leaf.dim()} so expected in_dim to satisfy "
                f"-{leaf.dim()} <= in_dim < {leaf.dim()}."
            )
        checked.append(None if d is None else d % leaf.dim())
    return checked


def _batch_size(leaves, dims):
    sizes = [leaf.shape[d] for leaf, d in zip(leaves, dims) if d is not None]
    if not sizes:
        raise ValueError("vmap: at least one Tensor must be mapped, but every in_dim is None")
    if len(set(sizes)) > 1:
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sizes} for the mapped dimension"
        )
    if sizes[0] == 0:
        raise RuntimeError(
            "vmap: the mapped dimension has size 0: no call of the function says what shape its "
            "results have; leave the call out where the batch is empty"
        )
    return sizes[0]


class _Draws:
    """What the default generators of the cpu, of GPUs and of the arguments' devices do in the calls
    of the examples."""

    def __init__(self, randomness, leaves):
        self.rule, self.generators = randomness, []
        if randomness != "different":
            kinds = {f"cuda:{n}" for n in range(api.device_count("cuda"))} | {"cpu"}
            kinds |= {str(leaf.device) for leaf in leaves if isinstance(leaf, Tensor)}
            self.generators = [api.generator_default(kind) for kind in sorted(kinds)]
        self.start = self._state()

    def _state(self):
        return [(api.generator_initial_seed(g), api.generator_offset(g)) for g in self.generators]

    def watch(self, func, args, kwargs):
        for generator, state in zip(self.generators, self.start):
            api.generator_set_state(generator, *state)
        result = func(*args, **kwargs)
        if self.rule == "error" and self._state() != self.start:
            raise RuntimeError(
                "vmap: called random operation while in randomness error mode. Please either use "
                "the 'same' or 'different' randomness flags on vmap or perform the randomness "
                "operation out of vmap"
            )
        return result


def _stacked(results, out_dims, name):
    for d in tree_leaves(out_dims):
        if d is not None and not isinstance(d, int):
            raise ValueError(
                f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a "
                "python collection of ints"
            )
    flat = [tree_flatten(r) for r in results]
    spec = flat[0][1]
    dims = _spread(out_dims, results[0])
    dims = dims and [d if d is None else int(d) for d in dims]
    if dims is None and isinstance(out_dims, tuple) and len(out_dims) == len(flat[0][0]) == 1:
        dims = list(out_dims)
    if dims is None:
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with "
            f"the structure of the results; there are {len(flat[0][0])}"
        )
    return tree_unflatten([_column(flat, k, d, name) for k, d in enumerate(dims)], spec)


def _column(flat, k, d, name):
    """Result `k` of every example as one tensor."""
    column = [leaves[k] for leaves, _ in flat]
    if d is None:
        if not all(_same(value, column[0]) for value in column):
            raise ValueError(
                f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None: "
                f"result {k} is not the same for every example"
            )
        return column[0]
    for value in column:
        if not isinstance(value, Tensor):
            raise ValueError(
                f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(value)}"
            )
    return ops.TORCH["stack"](column, d)


def _same(one, other):
    if one is other:
        return True
    tensors = isinstance(one, Tensor), isinstance(other, Tensor)
    return one.equal(other) if all(tensors) else not any(tensors) and one == other
