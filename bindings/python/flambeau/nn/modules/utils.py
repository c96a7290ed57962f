"""Tuples of options, one per spatial dimension, as modules of a program's own ask for them."""

from collections.abc import Iterable


def _ntuple(n, name="parse"):
    def parse(x):
        return tuple(x) if isinstance(x, Iterable) else (x,) * n

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t, n):
    """Every element `n` times, the last first: a padding as `F.pad` takes it."""
    return tuple(x for x in reversed(t) for _ in range(n))
