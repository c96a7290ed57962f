"""Nested dictionaries, lists and tuples of values as a flat list, and back."""

from .._tensor import Tensor


def flatten(tree):
    """The leaves of a tree, and the function that puts others in their places."""
    if isinstance(tree, dict):
        parts, build = _flat(tree.values())
        return parts, lambda leaves: type(tree)(zip(tree, build(leaves)))
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        parts, build = _flat(tree)
        return parts, lambda leaves: type(tree)(*build(leaves))
    if isinstance(tree, (list, tuple)):
        parts, build = _flat(tree)
        return parts, lambda leaves: type(tree)(build(leaves))
    return [tree], lambda leaves: leaves[0]


def _flat(values):
    parts, builds, ends = [], [], []
    for value in values:
        leaves, build = flatten(value)
        parts += leaves
        builds.append(build)
        ends.append(len(parts))

    def join(leaves):
        starts = [0, *ends[:-1]]
        return [b(leaves[i:j]) for b, i, j in zip(builds, starts, ends)]

    return parts, join


def mapped(function, tree):
    """The tree with its tensors changed."""
    leaves, build = flatten(tree)
    return build([function(v) if isinstance(v, Tensor) else v for v in leaves])
