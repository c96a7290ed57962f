"""Distributions over positive numbers: Exponential, HalfNormal, LogNormal."""

import math

import flambeau as torch

from . import constraints
from .distribution import Distribution, broadcast
from .location_scale import Normal, open_uniform


class Exponential(Distribution):
    """Waiting times at `rate` events per unit of time."""

    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, rate, validate_args=None):
        self.rate, scalars = broadcast(rate)
        super().__init__(() if scalars else self.rate.size(), (), validate_args)

    mean = stddev = property(lambda self: self.rate.reciprocal())
    mode = property(lambda self: torch.zeros_like(self.rate))
    variance = property(lambda self: self.rate**-2)

    def expand(self, batch_shape, _instance=None):
        return self._like(batch_shape, rate=self.rate.expand(batch_shape))

    def rsample(self, sample_shape=()):
        like = {"dtype": self.rate.dtype, "device": self.rate.device}
        return -open_uniform(self._extended_shape(sample_shape), like).log() / self.rate

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return self.rate.log() - self.rate * value

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return -torch.expm1(-self.rate * value)

    def icdf(self, value):
        return -torch.log1p(-value) / self.rate

    def entropy(self):
        return 1 - self.rate.log()


class HalfNormal(Distribution):
    """The distance from zero of a normal variable."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, scale, validate_args=None):
        self.scale, scalars = broadcast(scale)
        super().__init__(() if scalars else self.scale.size(), (), validate_args)

    mean = property(lambda self: self.scale * math.sqrt(2 / math.pi))
    mode = property(lambda self: torch.zeros_like(self.scale))
    variance = property(lambda self: self.scale**2 * (1 - 2 / math.pi))

    def _normal(self):
        return Normal(torch.zeros_like(self.scale), self.scale, validate_args=False)

    def expand(self, batch_shape, _instance=None):
        return self._like(batch_shape, scale=self.scale.expand(batch_shape))

    def rsample(self, sample_shape=()):
        return self._normal().rsample(sample_shape).abs()

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        found = self._normal().log_prob(value) + math.log(2)
        return torch.where(value >= 0, found, -math.inf)

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return 2 * self._normal().cdf(value) - 1

    def entropy(self):
        return self._normal().entropy() - math.log(2)


class LogNormal(Distribution):
    """e to a normal variable with mean `loc` and standard deviation `scale`."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale, scalars = broadcast(loc, scale)
        super().__init__(() if scalars else self.loc.size(), (), validate_args)

    mean = property(lambda self: (self.loc + self.scale**2 / 2).exp())
    mode = property(lambda self: (self.loc - self.scale**2).exp())

    @property
    def variance(self):
        square = self.scale**2
        return torch.expm1(square) * (2 * self.loc + square).exp()

    def _normal(self):
        return Normal(self.loc, self.scale, validate_args=False)

    def expand(self, batch_shape, _instance=None):
        loc, scale = self.loc.expand(batch_shape), self.scale.expand(batch_shape)
        return self._like(batch_shape, loc=loc, scale=scale)

    def rsample(self, sample_shape=()):
        return self._normal().rsample(sample_shape).exp()

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return self._normal().log_prob(value.log()) - value.log()

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return self._normal().cdf(value.log())

    def entropy(self):
        return self._normal().entropy() + self.loc
