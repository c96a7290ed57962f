"""Batches in parts: tensors are cut along their first dimension, or the one that a spec says,
wherever they stand in tuples, lists and dicts, everything else goes to each part; and outputs of
parts joined again, in the same trees. What holds a batch and cannot be cut is refused: whole, it
would be another part's as well."""

from ..._tensor import Tensor
from ..._torch import cat
from ...nn.attention.block_mask import BlockMask
from ...utils._pytree import (
    _matching,
    tree_flatten,
    tree_map,
    tree_map_only,
    tree_structure,
    tree_unflatten,
)

__all__ = ["TensorChunkSpec", "merge_chunks", "split_args_kwargs_into_chunks"]


class TensorChunkSpec:
    """A tensor is cut along `split_dim`."""

    def __init__(self, split_dim):
        self.split_dim = split_dim

    def __repr__(self):
        return f"{type(self).__module__}.{type(self).__name__}({self.split_dim})"

    def __str__(self):
        return f"TensorChunkSpec({self.split_dim})"

    @staticmethod
    def from_tuple(chunk_dims):
        """Specs of positional arguments, by their dimensions."""
        return tree_map(TensorChunkSpec, chunk_dims)

    @staticmethod
    def from_dict(chunk_dims):
        """Specs of named arguments, by their dimensions."""
        return tree_map(TensorChunkSpec, chunk_dims)


class _Replicate:
    """Goes to each part as it is."""


class _CustomReducer:
    """Values of parts become one by `reduce_fn(value so far, part's)`, from `init_value` on."""

    def __init__(self, init_value, reduce_fn):
        self.init_value, self.reduce_fn = init_value, reduce_fn


def parts_of(tree, chunks, specs=None):
    """A list with one tree for each part. `specs`: the same tree of TensorChunkSpec or
    `_Replicate`."""
    leaves, spec = tree_flatten(tree)
    dims = [0] * len(leaves)
    if specs is not None:
        dims = _dims(leaves, _matched(specs, spec, "how to cut values"))
    columns = [_cut(leaf, chunks, dim) for leaf, dim in zip(leaves, dims)]
    return [tree_unflatten([column[i] for column in columns], spec) for i in range(chunks)]


def _matched(specs, spec, what):
    """The specs of a tree's values, which stand at the same places, of dictionaries by key."""
    try:
        return _matching(specs, spec)
    except ValueError as problem:
        raise ValueError(f"{what} is said by {specs}, no tree like theirs: {problem}") from None


def _dims(leaves, specs):
    """Along which dimension each value is cut; None where it is not."""
    found = []
    for leaf, spec in zip(leaves, specs):
        whole = spec is _Replicate or isinstance(spec, _Replicate)
        if not whole and not (isinstance(spec, TensorChunkSpec) and isinstance(leaf, Tensor)):
            kind = type(leaf).__name__
            raise ValueError(f"a value of type {kind} cannot be cut as {spec} says")
        found.append(None if whole else spec.split_dim)
    return found


def _cut(value, chunks, dim):
    if isinstance(value, BlockMask) and value.shape[0] > 1:
        raise NotImplementedError(
            f"a BlockMask of {value.shape[0]} batches cannot be cut into parts; create one with "
            "B=None, which goes to each part, or give step() the parts' own in kwarg_mbs"
        )
    if not isinstance(value, Tensor) or dim is None:
        return [value] * chunks
    sizes = value.shape
    if not -len(sizes) <= dim < len(sizes) or not sizes[dim] or sizes[dim] % chunks:
        where = f"along its dimension {dim}" if dim else "along its first dimension"
        raise ValueError(
            f"a batch of shape {list(sizes)} cannot be cut into {chunks} equal parts {where}; give "
            "n_microbatches by which that can be divided"
        )
    return list(value.chunk(chunks, dim))


def split_args_kwargs_into_chunks(args, kwargs, chunks, args_chunk_spec=None,
                                  kwargs_chunk_spec=None):  # fmt: skip
    """Lists of the parts' positional and named arguments."""
    by_place = tuple(args_chunk_spec) if args and args_chunk_spec is not None else None
    by_name = dict(kwargs_chunk_spec) if kwargs and kwargs_chunk_spec is not None else None
    return parts_of(tuple(args), chunks, by_place), parts_of(dict(kwargs or {}), chunks, by_name)


def given_parts(chunks, arg_mbs, kwarg_mbs, target_mbs):
    """The parts' arguments and targets where the program itself has cut the batch."""
    found = []
    for name, given, kind, empty in (
        ("arg_mbs", arg_mbs, tuple, ()),
        ("kwarg_mbs", kwarg_mbs, dict, {}),
        ("target_mbs", target_mbs, object, None),
    ):
        parts = [empty] * chunks if given is None else given
        if not isinstance(parts, list):
            raise TypeError(f"{name} must be a list but got a {type(parts)}")
        if len(parts) != chunks:
            raise ValueError(f"Expecting {chunks} {name} but got {len(parts)}")
        for i, part in enumerate(parts):
            if not isinstance(part, kind):
                raise TypeError(f"{name}[{i}] must be a {kind.__name__} but got a {type(part)}")
        found.append(parts)
    return found


def merge_chunks(chunks, chunk_spec=None):
    """Outputs of parts, trees that are alike, as one: joined along their first dimension, or as a
    tree of TensorChunkSpec and `_CustomReducer` says; under another spec the parts' are equal. One
    value under a tuple or list of one spec becomes such a tuple or list."""
    if not chunks:
        raise ValueError("merge_chunks: there are no parts")
    of_one = type(chunk_spec) in (tuple, list) and len(chunk_spec) == 1
    if of_one and tree_structure(chunks[0]).is_leaf():
        chunks = [type(chunk_spec)([chunk]) for chunk in chunks]
    flat = [tree_flatten(chunk) for chunk in chunks]
    spec = flat[0][1]
    for i, (_, other) in enumerate(flat):
        if other != spec:
            raise ValueError(f"merge_chunks: part {i} is {other}, and part 0 is {spec}")
    columns = list(zip(*(leaves for leaves, _ in flat), strict=True))
    ways = [TensorChunkSpec(0)] * len(columns)
    if chunk_spec is not None:
        ways = _matched(chunk_spec, spec, "how to join outputs")
    return tree_unflatten([_joined(column, way) for column, way in zip(columns, ways)], spec)


def _joined(column, way):
    """One value of those of the parts."""
    if isinstance(way, _CustomReducer):
        found = way.init_value
        for value in column:
            found = way.reduce_fn(found, value)
        return found
    if not isinstance(way, TensorChunkSpec):
        if any(value is not column[0] and value != column[0] for value in column):
            raise ValueError(f"merge_chunks: values of parts differ: {list(column)}")
        return column[0]
    for value in column:
        if not isinstance(value, Tensor):
            raise TypeError(
                f"merge_chunks: an output of type {type(value).__name__} cannot be joined; return "
                "tensors, or tuples, lists and dicts of them, or call step() with "
                "return_outputs=False"
            )
    return cat(list(column), way.split_dim)


def detached(tree):
    """The tree without what backward needs of its tensors."""
    return tree_map_only(Tensor, Tensor.detach, tree)
