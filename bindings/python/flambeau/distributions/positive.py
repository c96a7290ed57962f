"""Distributions over positive numbers: Exponential, HalfNormal, HalfCauchy, LogNormal, and over
shares of a whole, LogisticNormal.

Source of the last: Aitchison and Shen 1980, Logistic-normal distributions: some properties and
uses."""

import math

from .. import _torch as torch
from . import constraints
from .exp_family import ExponentialFamily
from .location_scale import Cauchy, Normal
from .transformed_distribution import TransformedDistribution
from .transforms import AbsTransform, ExpTransform, StickBreakingTransform


def _waiting_times(shape, **options):
    return torch.empty(shape, **options).exponential_()


class Exponential(ExponentialFamily):
    """Waiting times at `rate` events per unit of time."""

    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, rate, validate_args=None):
        self._begin(validate_args, rate=rate)

    mean = stddev = property(lambda self: self.rate.reciprocal())
    mode = property(lambda self: torch.zeros_like(self.rate))
    variance = property(lambda self: self.rate**-2)

    def rsample(self, sample_shape=()):
        return self._noise(_waiting_times, sample_shape, self.rate) / self.rate

    def _log_prob(self, value):
        return self.rate.log() - self.rate * value

    def _cdf(self, value):
        return -torch.expm1(-self.rate * value)

    def icdf(self, value):
        return -torch.log1p(-value) / self.rate

    def entropy(self):
        return 1 - self.rate.log()

    _mean_carrier_measure = 0
    _natural_params = property(lambda self: (-self.rate,))

    def _log_normalizer(self, x):
        return -torch.log(-x)


class _Half(TransformedDistribution):
    """The distance from zero of a symmetric variable, `base_dist`."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, base_distribution, validate_args):
        super().__init__(base_distribution, AbsTransform(), validate_args=validate_args)

    scale = property(lambda self: self.base_dist.scale)
    mode = property(lambda self: torch.zeros_like(self.scale))

    def _log_prob(self, value):
        value = torch.as_tensor(value, dtype=self.scale.dtype, device=self.scale.device)
        return torch.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value):
        self._checked(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value):
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self):
        return self.base_dist.entropy() - math.log(2)


class HalfNormal(_Half):
    """The distance from zero of a normal variable."""

    def __init__(self, scale, validate_args=None):
        super().__init__(Normal(0, scale, validate_args=False), validate_args)

    mean = property(lambda self: self.scale * math.sqrt(2 / math.pi))
    variance = property(lambda self: self.scale**2 * (1 - 2 / math.pi))


class HalfCauchy(_Half):
    """The distance from zero of a Cauchy variable."""

    def __init__(self, scale, validate_args=None):
        super().__init__(Cauchy(0, scale, validate_args=False), validate_args)

    mean = property(lambda self: torch.full_like(self.scale, math.inf))
    variance = property(lambda self: self.base_dist.variance)


class LogNormal(TransformedDistribution):
    """e to a normal variable with mean `loc` and standard deviation `scale`."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        base = Normal(loc, scale, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    loc = property(lambda self: self.base_dist.loc)
    scale = property(lambda self: self.base_dist.scale)
    mean = property(lambda self: (self.loc + self.scale**2 / 2).exp())
    mode = property(lambda self: (self.loc - self.scale**2).exp())

    @property
    def variance(self):
        square = self.scale**2
        return torch.expm1(square) * (2 * self.loc + square).exp()

    def entropy(self):
        return self.base_dist.entropy() + self.loc


class LogisticNormal(TransformedDistribution):
    """n + 1 shares that n independent normal variables break off a stick."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        base = Normal(loc, scale, validate_args=validate_args)
        base = base if base.batch_shape else base.expand((1,))
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    loc = property(lambda self: self.base_dist.base_dist.loc)
    scale = property(lambda self: self.base_dist.base_dist.scale)
