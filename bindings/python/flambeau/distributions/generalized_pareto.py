"""GeneralizedPareto: what lies above a high threshold, with tails of any weight.

Source: Pickands 1975, Statistical inference using extreme order statistics."""

import math

from .. import _torch as torch
from . import constraints
from .distribution import Distribution


class GeneralizedPareto(Distribution):
    """Values from `loc` on: exponential where `concentration` is 0, with a heavier tail above, and
    an end at loc - scale / concentration below."""

    arg_constraints = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True

    def __init__(self, loc, scale, concentration, validate_args=None):
        self._begin(validate_args, loc=loc, scale=scale, concentration=concentration)

    mode = property(lambda self: self.loc)

    def _below(self, limit, found):
        return torch.where(self.concentration < limit, found, math.nan)

    @property
    def mean(self):
        return self._below(1, self.loc + self.scale / (1 - self.concentration))

    @property
    def variance(self):
        k = self.concentration
        return self._below(0.5, self.scale**2 / ((1 - k) ** 2 * (1 - 2 * k)))

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        end = self.loc - self.scale / self.concentration
        return constraints.interval(self.loc, torch.where(self.concentration < 0, end, math.inf))

    def _split(self):
        """Where the concentration is 0, and one by which can be divided."""
        zero = torch.isclose(self.concentration, torch.zeros_like(self.concentration))
        return zero, torch.where(zero, 1.0, self.concentration)

    def rsample(self, sample_shape=()):
        return self.icdf(self._noise(torch.rand, sample_shape, self.loc))

    def log_survival_function(self, value):
        """The logarithm of the probability of values above `value`."""
        self._checked(value)
        zero, k = self._split()
        z = (value - self.loc) / self.scale
        return torch.where(zero, -z, -torch.log1p(k * z) / k)

    def log_prob(self, value):
        self._checked(value)
        zero, k = self._split()
        z = (value - self.loc) / self.scale
        power = (1 / k + 1).expand(z.shape)
        # A concentration of -1 is the uniform distribution, whose end has a density too.
        found = torch.where(power == 0, power, power * torch.log1p(k * z))
        return -self.scale.log() - torch.where(zero, z, found)

    def log_cdf(self, value):
        """The logarithm of the probability of values up to `value`."""
        return torch.log1p(-self.log_survival_function(value).exp())

    def cdf(self, value):
        return self.log_cdf(value).exp()

    def icdf(self, value):
        zero, k = self._split()
        above = torch.log1p(-value)
        found = self.loc + self.scale / k * torch.expm1(-k * above)
        return torch.where(zero, self.loc - self.scale * above, found)

    def entropy(self):
        return self.scale.log() + self.concentration + 1
