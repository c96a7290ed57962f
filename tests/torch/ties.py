"""Which of equal elements a function takes is not said by torch, stable sorts aside: indices that
name equal elements agree, whatever they are. Before two outcomes are compared, ours takes over
PyTorch's indices where both name the same values in the operand.
"""

from __future__ import annotations

import numpy as np

from .library import Seen, flat

UNSAID = ("topk", "sort", "argsort", "kthvalue", "mode", "median", "nanmedian")


def settle(call, ours, theirs, library):
    """Makes indices of equal elements the same in both outcomes."""
    name = call.spelling.rpartition(".")[2]
    if name not in UNSAID or "stable=True" in call.what or ours.raised or theirs.raised:
        return
    pairs = [
        (a, b)
        for a, b in zip(indices(ours), indices(theirs))
        if a.values.shape == b.values.shape and not np.array_equal(a.values, b.values)
    ]
    operand = library.seen(call.make(library)[0]).values if pairs else None
    for a, b in pairs:
        if name_equal(operand, a.values, b.values):
            a.values = b.values


def indices(outcome):
    """Integer results, and those written to out=."""
    every = [*flat(outcome.results), *(outcome.written[i] for i in sorted(outcome.written))]
    return [s for s in every if isinstance(s, Seen) and s.dtype == "int64"]


def name_equal(operand, ours, theirs):
    """Whether there is a dimension along which both pick the same values, each for its place."""
    return any(
        np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
        for d in range(operand.ndim)
        if (a := picked(operand, ours, d)) is not None
        if (b := picked(operand, theirs, d)) is not None
    )


def picked(operand, at, dim):
    """The elements that indices along a dimension name; None where they do not fit it."""
    at = at if at.ndim == operand.ndim else np.expand_dims(at, dim)
    fits = at.ndim == operand.ndim and all(
        n == m for d, (n, m) in enumerate(zip(at.shape, operand.shape)) if d != dim
    )
    if not fits or (at.size and not 0 <= at.min() <= at.max() < operand.shape[dim]):
        return None
    return np.take_along_axis(operand, at, dim)
