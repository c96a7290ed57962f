"""Distributions whose samples are powers of exponential, uniform or gamma variables: Pareto,
Weibull, Kumaraswamy, InverseGamma, GeneralizedPareto.

Source of the formulas: Johnson, Kotz, Balakrishnan, Continuous Univariate Distributions, 2nd ed.;
Kumaraswamy 1980, A generalized probability density function for double-bounded random processes;
Pickands 1975, Statistical inference using extreme order statistics."""

import math

from .. import _torch as torch
from . import constraints
from .distribution import Distribution, broadcast
from .gamma import Beta, Gamma
from .location_scale import EULER, Uniform
from .positive import Exponential
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, ExpTransform, PowerTransform


class Pareto(TransformedDistribution):
    """Values from `scale` on, with tails that fall off as x ** -alpha."""

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}

    def __init__(self, scale, alpha, validate_args=None):
        self.scale, self.alpha = broadcast(scale, alpha)
        base = Exponential(self.alpha, validate_args=validate_args)
        stretched = AffineTransform(loc=0, scale=self.scale)
        super().__init__(base, [ExpTransform(), stretched], validate_args=validate_args)

    mode = property(lambda self: self.scale)
    support = constraints.dependent_property(
        lambda self: constraints.greater_than_eq(self.scale), is_discrete=False, event_dim=0
    )

    @property
    def mean(self):
        a = self.alpha.clamp(min=1)
        return a * self.scale / (a - 1)

    @property
    def variance(self):
        a = self.alpha.clamp(min=2)
        return self.scale**2 * a / ((a - 1) ** 2 * (a - 2))

    def entropy(self):
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())


class Weibull(TransformedDistribution):
    """The `1 / concentration`-th power of an exponential variable, times `scale`."""

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive

    def __init__(self, scale, concentration, validate_args=None):
        self.scale, self.concentration = broadcast(scale, concentration)
        base = Exponential(torch.ones_like(self.scale), validate_args=validate_args)
        steps = [PowerTransform(self.concentration_reciprocal), AffineTransform(0, self.scale)]
        super().__init__(base, steps, validate_args=validate_args)

    concentration_reciprocal = property(lambda self: self.concentration.reciprocal())

    def _gamma(self, n):
        """The n-th moment of the variable of scale 1."""
        return torch.lgamma(1 + n * self.concentration_reciprocal).exp()

    mean = property(lambda self: self.scale * self._gamma(1))
    variance = property(lambda self: self.scale**2 * (self._gamma(2) - self._gamma(1) ** 2))

    @property
    def mode(self):
        k = self.concentration
        return self.scale * ((k - 1) / k) ** self.concentration_reciprocal

    def entropy(self):
        r = self.concentration_reciprocal
        return EULER * (1 - r) + torch.log(self.scale * r) + 1


class Kumaraswamy(TransformedDistribution):
    """Like Beta, with a distribution function that can be inverted:
    1 - (1 - x ** concentration1) ** concentration0."""

    arg_constraints = Beta.arg_constraints
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1, concentration0, validate_args=None):
        self.concentration1, self.concentration0 = broadcast(concentration1, concentration0)
        ends = torch.zeros_like(self.concentration0), torch.ones_like(self.concentration0)
        steps = [
            PowerTransform(self.concentration0.reciprocal()),
            AffineTransform(loc=1.0, scale=-1.0),
            PowerTransform(self.concentration1.reciprocal()),
        ]
        super().__init__(Uniform(*ends, validate_args=validate_args), steps, validate_args)

    def _moment(self, n):
        first, b = 1 + n / self.concentration1, self.concentration0
        return b * (torch.lgamma(first) + torch.lgamma(b) - torch.lgamma(first + b)).exp()

    mean = property(lambda self: self._moment(1))
    variance = property(lambda self: self._moment(2) - self.mean**2)

    @property
    def mode(self):
        a, b = self.concentration1, self.concentration0
        found = ((a - 1) / (a * b - 1)) ** a.reciprocal()
        return torch.where((a < 1) | (b < 1), math.nan, found)

    def entropy(self):
        a, b = self.concentration1, self.concentration0
        harmonic = torch.digamma(b + 1) + EULER
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic - a.log() - b.log()


class InverseGamma(TransformedDistribution):
    """One over a gamma variable."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, concentration, rate, validate_args=None):
        base = Gamma(concentration, rate, validate_args=validate_args)
        inverted = PowerTransform(-base.rate.new_ones(()))
        super().__init__(base, inverted, validate_args=validate_args)

    concentration = property(lambda self: self.base_dist.concentration)
    rate = property(lambda self: self.base_dist.rate)
    mode = property(lambda self: self.rate / (self.concentration + 1))

    @property
    def mean(self):
        a = self.concentration
        return torch.where(a > 1, self.rate / (a - 1), math.inf)

    @property
    def variance(self):
        a = self.concentration
        return torch.where(a > 2, self.rate**2 / ((a - 1) ** 2 * (a - 2)), math.inf)

    def entropy(self):
        a = self.concentration
        return a + self.rate.log() + torch.lgamma(a) - (1 + a) * torch.digamma(a)


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

    mean = property(lambda self: self._below(1, self.loc + self.scale / (1 - self.concentration)))

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

    def _log_prob(self, value):
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
