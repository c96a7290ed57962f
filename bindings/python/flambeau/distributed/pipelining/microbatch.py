"""Batches in parts: tensors are cut along their first dimension, everything else goes to each part;
and outputs of parts joined again."""

from ..._tensor import Tensor
from ..._torch import cat

__all__ = ["merge_chunks", "split_args_kwargs_into_chunks"]


def parts_of(value, chunks):
    """A list with one entry for each part."""
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
    columns = [parts_of(value, chunks) for value in args]
    named = {name: parts_of(value, chunks) for name, value in (kwargs or {}).items()}
    return (
        [tuple(column[i] for column in columns) for i in range(chunks)],
        [{name: column[i] for name, column in named.items()} for i in range(chunks)],
    )


def merge_chunks(chunks, chunk_spec=None):
    """Outputs of parts, tensors or tuples of them, as one."""
    if chunk_spec is not None:
        raise NotImplementedError("merge_chunks: chunk specs are unsupported; outputs are joined "
                                  "along their first dimension")  # fmt: skip
    if isinstance(chunks[0], (tuple, list)):
        return tuple(merge_chunks(list(column)) for column in zip(*chunks, strict=True))
    return cat(list(chunks)) if isinstance(chunks[0], Tensor) else chunks[0]
