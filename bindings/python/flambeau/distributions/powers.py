"""Distributions whose samples are powers of exponential, uniform or gamma variables: Pareto,
Weibull, Kumaraswamy, InverseGamma.

Source of the formulas: Johnson, Kotz, Balakrishnan, Continuous Univariate Distributions, 2nd ed.;
Kumaraswamy 1980, A generalized probability density function for double-bounded random processes."""

import math

from .. import _torch as torch
from . import constraints
from .distribution import broadcast
from .gamma import Beta, Gamma
from .location_scale import EULER
from .positive import Exponential
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, ExpTransform, PowerTransform
from .uniform import Uniform


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
