"""Transforms of every number by itself: Exp, Power, Sigmoid, Softplus, Tanh, Abs, Affine, and the
cumulative probability of a distribution."""

import math

from flambeau.nn import functional as F

from ... import _torch as torch
from .. import constraints
from ..distribution import broadcast
from .base import OneOfAKind, Transform


class ExpTransform(OneOfAKind):
    """y = exp(x)."""

    domain, codomain = constraints.real, constraints.positive
    bijective, sign = True, 1

    def _call(self, x):
        return x.exp()

    def _inverse(self, y):
        return y.log()

    def log_abs_det_jacobian(self, x, y):
        return x


class _Broadcast(Transform):
    """A transform with parameters, whose shapes join that of the value."""

    def _shapes(self):
        raise NotImplementedError

    def forward_shape(self, shape):
        return torch.broadcast_shapes(tuple(shape), *self._shapes())

    inverse_shape = forward_shape


class PowerTransform(_Broadcast):
    """y = x ** exponent, for positive x."""

    domain = codomain = constraints.positive
    bijective = True

    def __init__(self, exponent, cache_size=0):
        super().__init__(cache_size)
        (self.exponent,) = broadcast(exponent)

    sign = property(lambda self: self.exponent.sign())

    def __eq__(self, other):
        return isinstance(other, PowerTransform) and bool((self.exponent == other.exponent).all())

    def _shapes(self):
        return [tuple(self.exponent.shape)]

    def _call(self, x):
        return x.pow(self.exponent)

    def _inverse(self, y):
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x, y):
        return (self.exponent * y / x).abs().log()


class SigmoidTransform(OneOfAKind):
    """y = 1 / (1 + exp(-x)), kept off 0 and 1."""

    domain, codomain = constraints.real, constraints.unit_interval
    bijective, sign = True, 1

    def _call(self, x):
        return inside(torch.sigmoid(x))

    def _inverse(self, y):
        y = inside(y)
        return y.log() - torch.log1p(-y)

    def log_abs_det_jacobian(self, x, y):
        return -F.softplus(-x) - F.softplus(x)


def inside(y):
    """Probabilities kept off 0 and 1."""
    limits = torch.finfo(y.dtype)
    return y.clamp(min=limits.tiny, max=1 - limits.eps)


class SoftplusTransform(OneOfAKind):
    """y = log(1 + exp(x))."""

    domain, codomain = constraints.real, constraints.positive
    bijective, sign = True, 1

    def _call(self, x):
        return F.softplus(x)

    def _inverse(self, y):
        return (-torch.expm1(-y)).log() + y

    def log_abs_det_jacobian(self, x, y):
        return -F.softplus(-x)


class TanhTransform(OneOfAKind):
    """y = tanh(x); with a cache its inverse is exact near -1 and 1 too."""

    domain, codomain = constraints.real, constraints.interval(-1.0, 1.0)
    bijective, sign = True, 1

    def _call(self, x):
        return x.tanh()

    def _inverse(self, y):
        return torch.atanh(y)

    def log_abs_det_jacobian(self, x, y):
        # log(1 - tanh(x)^2), written so that it does not cancel
        return 2 * (math.log(2) - x - F.softplus(-2 * x))


class AbsTransform(OneOfAKind):
    """y = |x|, whose inverse is taken to be positive."""

    domain, codomain = constraints.real, constraints.positive

    def _call(self, x):
        return x.abs()

    def _inverse(self, y):
        return y


class AffineTransform(_Broadcast):
    """y = loc + scale * x."""

    bijective = True

    def __init__(self, loc, scale, event_dim=0, cache_size=0):
        super().__init__(cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    event_dim = property(lambda self: self._event_dim)

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        n = self._event_dim
        return constraints.independent(constraints.real, n) if n else constraints.real

    codomain = domain

    def __eq__(self, other):
        return isinstance(other, AffineTransform) and all(
            bool(torch.as_tensor(mine == theirs).all())
            for mine, theirs in ((self.loc, other.loc), (self.scale, other.scale))
        )

    @property
    def sign(self):
        if isinstance(self.scale, torch.Tensor):
            return self.scale.sign()
        return (self.scale > 0) - (self.scale < 0)

    def _shapes(self):
        return [tuple(getattr(v, "shape", ())) for v in (self.loc, self.scale)]

    def _call(self, x):
        return self.loc + self.scale * x

    def _inverse(self, y):
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x, y):
        if isinstance(self.scale, torch.Tensor):
            found = self.scale.abs().log()
        else:
            found = torch.full_like(x, math.log(abs(self.scale)))
        shape = x.shape
        if self._event_dim:
            found = found.expand(shape).flatten(-self._event_dim).sum(-1)
            shape = shape[: -self._event_dim]
        return found.expand(shape)


class CumulativeDistributionTransform(Transform):
    """y = the probability, under a distribution of numbers, of values up to x."""

    bijective, sign = True, 1
    codomain = constraints.unit_interval

    def __init__(self, distribution, cache_size=0):
        super().__init__(cache_size)
        self.distribution = distribution

    domain = property(lambda self: self.distribution.support)

    def _call(self, x):
        return self.distribution.cdf(x)

    def _inverse(self, y):
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x, y):
        return self.distribution.log_prob(x)
