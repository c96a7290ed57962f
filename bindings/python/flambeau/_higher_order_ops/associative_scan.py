"""A running combination along a dimension, by a function of the program. The function is called
once per step, so gradients flow through and any function works; nothing is fused."""

from .._gen import ops
from ..utils._pytree import tree_flatten, tree_unflatten


def associative_scan(
    combine_fn, xs, dim, reverse=False, combine_mode="pointwise", *, additional_inputs=()
):
    """Along `dim`, entry i becomes the combination of the entries up to i, or from i on where
    `reverse`; `xs` is a tensor or a tree of them, and `combine_fn(left, right)` takes and gives
    such a tree without that dimension."""
    if not callable(combine_fn):
        raise ValueError(f"Combine_fn must be a callable, but got {combine_fn}")
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(
            f"Combine_mode must either 'pointwise' or 'generic', but got {combine_mode}"
        )
    leaves, spec = tree_flatten(xs)
    if not leaves:
        raise ValueError("Expected at least 1 xs leaf")
    lengths = {leaf.shape[dim] for leaf in leaves}
    if len(lengths) > 1 or 0 in lengths:
        raise ValueError(
            f"All xs leaves must have one length, not 0, along dim {dim}, but got {lengths}"
        )
    steps = list(zip(*(leaf.unbind(dim) for leaf in leaves)))
    steps = [tree_unflatten(list(step), spec) for step in (reversed(steps) if reverse else steps)]
    found = [steps[0]]
    for step in steps[1:]:
        found.append(combine_fn(found[-1], step))
    if reverse:
        found.reverse()
    columns = zip(*(tree_flatten(value)[0] for value in found))
    return tree_unflatten([ops.TORCH["stack"](column, dim) for column in columns], spec)
