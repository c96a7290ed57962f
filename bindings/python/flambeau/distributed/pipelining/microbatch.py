"""Batches in parts: tensors are cut along their first dimension wherever they stand in tuples,
lists and dicts, everything else goes to each part; and outputs of parts joined again, in the same
trees. What holds a batch and cannot be cut is refused: whole, it would be another part's as
well."""

from ... import _refused
from ..._tensor import Tensor
from ..._torch import cat
from ...nn.attention.block_mask import BlockMask
from ...utils._pytree import tree_flatten, tree_map_only, tree_unflatten

__all__ = ["TensorChunkSpec", "merge_chunks", "split_args_kwargs_into_chunks"]

_SPEC = "microbatch.TensorChunkSpec"
_REFUSED = (
    "torch.distributed.pipelining",
    "tensors are cut along their first dimension; give step() parts that the program has cut as "
    "arg_mbs, kwarg_mbs and target_mbs",
)
TensorChunkSpec = _refused.kind(_REFUSED[0], "TensorChunkSpec", _REFUSED[1])
for _name in ("from_tuple", "from_dict"):
    _made = _refused.function(_REFUSED[0], f"{_SPEC}.{_name}", _REFUSED[1])
    setattr(TensorChunkSpec, _name, staticmethod(_made))


def parts_of(tree, chunks):
    """A list with one tree for each part."""
    leaves, spec = tree_flatten(tree)
    columns = [_cut(leaf, chunks) for leaf in leaves]
    return [tree_unflatten([column[i] for column in columns], spec) for i in range(chunks)]


def _cut(value, chunks):
    if isinstance(value, BlockMask) and value.shape[0] > 1:
        raise NotImplementedError(
            f"a BlockMask of {value.shape[0]} batches cannot be cut into parts; create one with "
            "B=None, which goes to each part, or give step() the parts' own in kwarg_mbs"
        )
    if not isinstance(value, Tensor):
        return [value] * chunks
    if value.dim() == 0 or not value.shape[0] or value.shape[0] % chunks:
        raise ValueError(
            f"a batch of shape {list(value.shape)} cannot be cut into {chunks} equal parts along "
            "its first dimension; give n_microbatches by which that can be divided"
        )
    return list(value.chunk(chunks))


def split_args_kwargs_into_chunks(args, kwargs, chunks, args_chunk_spec=None,
                                  kwargs_chunk_spec=None):  # fmt: skip
    """Lists of the parts' positional and named arguments."""
    if args_chunk_spec is not None or kwargs_chunk_spec is not None:
        raise NotImplementedError(
            "split_args_kwargs_into_chunks: chunk specs are unsupported; tensors are cut along "
            "their first dimension, other values go to each part"
        )
    parts = parts_of((tuple(args), dict(kwargs or {})), chunks)
    return [positional for positional, _ in parts], [named for _, named in parts]


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
    """Outputs of parts, trees of tensors that are alike, as one."""
    if chunk_spec is not None:
        raise NotImplementedError("merge_chunks: chunk specs are unsupported; outputs are joined "
                                  "along their first dimension")  # fmt: skip
    flat = [tree_flatten(chunk) for chunk in chunks]
    spec = flat[0][1]
    for i, (leaves, other) in enumerate(flat):
        if other != spec:
            raise ValueError(f"merge_chunks: part {i} is {other}, and part 0 is {spec}")
        for leaf in leaves:
            if not isinstance(leaf, Tensor):
                raise TypeError(
                    f"merge_chunks: an output of type {type(leaf).__name__} cannot be joined; "
                    "return tensors, or tuples, lists and dicts of them, or call step() with "
                    "return_outputs=False"
                )
    return tree_unflatten(
        [cat(list(column)) for column in zip(*(leaves for leaves, _ in flat), strict=True)], spec
    )


def detached(tree):
    """The tree without what backward needs of its tensors."""
    return tree_map_only(Tensor, Tensor.detach, tree)
