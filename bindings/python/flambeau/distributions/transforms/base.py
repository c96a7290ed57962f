"""What all transforms share, their inverses, chains of them, and one over several dimensions.

A transform with `cache_size=1` remembers its last pair of value and result, so that the inverse of
what it has just computed is that value itself, exactly and with its history."""

import copy
import functools
import math
import operator

from ... import _torch as torch
from .. import constraints
from ..distribution import sum_rightmost


class Transform:
    """A function from `domain` to `codomain`; a kind of it has `_call`, `_inverse` and, where it
    is bijective, `log_abs_det_jacobian`."""

    bijective = False

    def __init__(self, cache_size=0):
        super().__init__()  # a program's own may be a Module too
        self._begin_cache(cache_size)

    def _begin_cache(self, cache_size):
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._inv = None
        self._cached_x_y = None, None

    def __getstate__(self):
        return {**self.__dict__, "_inv": None}

    @property
    def event_dim(self):
        """How many last dimensions are transformed together."""
        if self.domain.event_dim == self.codomain.event_dim:
            return self.domain.event_dim
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def inv(self):
        """The inverse, whose inverse is this transform."""
        if self._inv is None:
            self._inv = _InverseTransform(self)
        return self._inv

    @property
    def sign(self):
        """1 or -1: whether a function of numbers rises or falls."""
        raise NotImplementedError

    def with_cache(self, cache_size=1):
        """The same transform with another size of its cache."""
        if self._cache_size == cache_size:
            return self
        made = copy.copy(self)
        made._begin_cache(cache_size)
        made._cache_parts(cache_size)
        return made

    def _cache_parts(self, cache_size):
        """Gives the transforms that this one is made of the same cache."""

    # One object is another only if the kind says when.
    def __eq__(self, other):
        return self is other

    def __call__(self, x):
        if self._cache_size == 0:
            return self._call(x)
        if x is not self._cached_x_y[0]:
            self._cached_x_y = x, self._call(x)
        return self._cached_x_y[1]

    def _inv_call(self, y):
        if self._cache_size == 0:
            return self._inverse(y)
        if y is not self._cached_x_y[1]:
            self._cached_x_y = self._inverse(y), y
        return self._cached_x_y[0]

    def _call(self, x):
        raise NotImplementedError

    def _inverse(self, y):
        raise NotImplementedError

    def log_abs_det_jacobian(self, x, y):
        """log |dy/dx| for a value and its result."""
        raise NotImplementedError

    def __repr__(self):
        return type(self).__name__ + "()"

    def forward_shape(self, shape):
        """The shape of the result for a value of `shape`."""
        return shape

    def inverse_shape(self, shape):
        """The shape of the value for a result of `shape`."""
        return shape


class OneOfAKind(Transform):
    """A transform without parameters: all of its class are equal."""

    def __eq__(self, other):
        return isinstance(other, type(self))


def at_least(dims, shape):
    """Refuses a shape of fewer dimensions."""
    if len(shape) < dims:
        raise ValueError("Too few dimensions on input")


class _InverseTransform(Transform):
    """A transform backwards; it keeps nothing of its own."""

    def __init__(self, transform):
        super().__init__(transform._cache_size)
        self._inv = transform

    def __getstate__(self):
        return self.__dict__

    inv = property(lambda self: self._inv)
    domain = constraints.dependent_property(lambda self: self._inv.codomain, is_discrete=False)
    codomain = constraints.dependent_property(lambda self: self._inv.domain, is_discrete=False)
    bijective = property(lambda self: self._inv.bijective)
    sign = property(lambda self: self._inv.sign)

    def with_cache(self, cache_size=1):
        return self._inv.with_cache(cache_size).inv

    def __eq__(self, other):
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    def __call__(self, x):
        return self._inv._inv_call(x)

    def _inv_call(self, y):
        return self._inv(y)

    def log_abs_det_jacobian(self, x, y):
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape):
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape):
        return self._inv.forward_shape(shape)

    def __repr__(self):
        return f"_InverseTransform({self._inv!r})"


def _end(steps):
    """The set at the end of a chain of (from, to), over as many dimensions as its widest step
    needs."""
    if not steps:
        return constraints.real
    dims = steps[0][0].event_dim
    for before, after in steps:
        dims = max(dims + after.event_dim - before.event_dim, after.event_dim)
    more = dims - after.event_dim
    return constraints.independent(after, more) if more else after


class ComposeTransform(Transform):
    """One transform after another."""

    def __init__(self, parts, cache_size=0):
        super().__init__(cache_size)
        self.parts = parts
        if cache_size:
            self._cache_parts(cache_size)

    def _cache_parts(self, cache_size):
        self.parts = [part.with_cache(cache_size) for part in self.parts]

    def __eq__(self, other):
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        return _end([(part.codomain, part.domain) for part in reversed(self.parts)])

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        return _end([(part.domain, part.codomain) for part in self.parts])

    bijective = property(lambda self: all(part.bijective for part in self.parts))
    sign = property(lambda self: math.prod(part.sign for part in self.parts))

    @property
    def inv(self):
        if self._inv is None:
            self._inv = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv._inv = self
        return self._inv

    def __call__(self, x):
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x, y):
        if not self.parts:
            return torch.zeros_like(x)
        values = [x]
        for part in self.parts[:-1]:
            values.append(part(values[-1]))
        values.append(y)
        terms, dims = [], self.domain.event_dim
        for part, before, after in zip(self.parts, values, values[1:]):
            found = part.log_abs_det_jacobian(before, after)
            terms.append(sum_rightmost(found, dims - part.domain.event_dim))
            dims += part.codomain.event_dim - part.domain.event_dim
        return functools.reduce(operator.add, terms)

    def forward_shape(self, shape):
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape):
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self):
        inner = ",\n    ".join(map(repr, self.parts))
        return f"{type(self).__name__}(\n    {inner}\n)"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """`base_transform` of which so many more dimensions belong to one event: its logarithms of
    Jacobians are summed over them."""

    def __init__(self, base_transform, reinterpreted_batch_ndims, cache_size=0):
        super().__init__(cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def _cache_parts(self, cache_size):
        self.base_transform = self.base_transform.with_cache(cache_size)

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    bijective = property(lambda self: self.base_transform.bijective)
    sign = property(lambda self: self.base_transform.sign)

    def _call(self, x):
        at_least(self.domain.event_dim, x.shape)
        return self.base_transform(x)

    def _inverse(self, y):
        at_least(self.codomain.event_dim, y.shape)
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x, y):
        found = self.base_transform.log_abs_det_jacobian(x, y)
        return sum_rightmost(found, self.reinterpreted_batch_ndims)

    def forward_shape(self, shape):
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape):
        return self.base_transform.inverse_shape(shape)

    def __repr__(self):
        inner = f"{self.base_transform!r}, {self.reinterpreted_batch_ndims}"
        return f"{type(self).__name__}({inner})"
