"""Transforms of the parts of an array along a dimension, each by its own: CatTransform where the
parts have lengths, StackTransform where each is one index."""

from ... import _torch as torch
from .. import constraints
from ..distribution import sum_rightmost
from .base import Transform


class _Joined(Transform):
    """A transform per part along `dim`."""

    def __init__(self, tseq, dim=0, cache_size=0):
        super().__init__(cache_size)
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        self.transforms, self.dim = list(tseq), dim
        if cache_size:
            self._cache_parts(cache_size)

    def _cache_parts(self, cache_size):
        self.transforms = [t.with_cache(cache_size) for t in self.transforms]

    bijective = property(lambda self: all(t.bijective for t in self.transforms))
    domain = constraints.dependent_property(
        lambda self: self._set([t.domain for t in self.transforms])
    )
    codomain = constraints.dependent_property(
        lambda self: self._set([t.codomain for t in self.transforms])
    )

    def _parts(self, value, size):
        """The parts, of a value whose size along the dimension must be `size`."""
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(
                f"dim {self.dim} out of range for tensor with {value.dim()} dimensions"
            )
        if value.size(self.dim) != size:
            raise AssertionError(
                f"the size of dimension {self.dim}, {value.size(self.dim)}, must equal {size}"
            )
        return self._split(value)

    def _call(self, x):
        parts = self._parts(x, self.length)
        return self._join([t(v) for t, v in zip(self.transforms, parts)])

    def _inverse(self, y):
        parts = self._parts(y, self.length)
        return self._join([t.inv(v) for t, v in zip(self.transforms, parts)])

    def _logs(self, x, y):
        pairs = zip(self.transforms, self._parts(x, self.length), self._parts(y, self.length))
        return [t.log_abs_det_jacobian(before, after) for t, before, after in pairs]


class CatTransform(_Joined):
    """Parts of `lengths` along `dim`."""

    def __init__(self, tseq, dim=0, lengths=None, cache_size=0):
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(
                f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})"
            )

    event_dim = property(lambda self: max(t.event_dim for t in self.transforms))
    length = property(lambda self: sum(self.lengths))

    def _split(self, value):
        return value.split(self.lengths, self.dim)

    def _join(self, parts):
        return torch.cat(parts, self.dim)

    def log_abs_det_jacobian(self, x, y):
        found = [
            sum_rightmost(log, self.event_dim - t.event_dim)
            for t, log in zip(self.transforms, self._logs(x, y))
        ]
        # Along a dimension of the event the parts' terms are summed, else they lie side by side.
        dim = (self.dim if self.dim < 0 else self.dim - x.dim()) + self.event_dim
        return torch.cat(found, dim) if dim < 0 else sum(found)

    def _set(self, parts):
        return constraints.cat(parts, self.dim, self.lengths)


class StackTransform(_Joined):
    """One index along `dim` each."""

    length = property(lambda self: len(self.transforms))

    def _split(self, value):
        return value.unbind(self.dim)

    def _join(self, parts):
        return torch.stack(parts, self.dim)

    def log_abs_det_jacobian(self, x, y):
        return self._join(self._logs(x, y))

    def _set(self, parts):
        return constraints.stack(parts, self.dim)
