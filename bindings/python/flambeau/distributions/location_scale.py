"""Distributions that are one standard distribution shifted by `loc` and stretched by `scale`:
Normal, Laplace, Cauchy, Gumbel; and Uniform, by its ends.

Source of the formulas: Johnson, Kotz, Balakrishnan, Continuous Univariate Distributions, 2nd ed."""

import math

from .. import _torch as torch
from . import constraints
from .distribution import Distribution
from .exp_family import ExponentialFamily

EULER = 0.57721566490153286061


class LocationScale(Distribution):
    """`loc + scale * Z`; a kind of it draws Z and knows Z's density."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        self._begin(validate_args, loc=loc, scale=scale)

    def rsample(self, sample_shape=()):
        return self.loc + self._noise(self._standard, sample_shape, self.loc) * self.scale

    def _log_prob(self, value):
        return self._standard_log_prob((value - self.loc) / self.scale) - self.scale.log()

    def _cdf(self, value):
        return self._standard_cdf((value - self.loc) / self.scale)

    def entropy(self):
        return self.scale.log() + self._standard_entropy


def open_uniform(shape, dtype, device):
    """Uniform numbers in (0, 1), both ends left out so that logarithms stay finite."""
    return torch.rand(shape, dtype=dtype, device=device).clamp(min=torch.finfo(dtype).tiny)


class Normal(LocationScale, ExponentialFamily):
    """The normal distribution with mean `loc` and standard deviation `scale`."""

    _standard_entropy = 0.5 + 0.5 * math.log(2 * math.pi)

    mean = mode = property(lambda self: self.loc)
    stddev = property(lambda self: self.scale)
    variance = property(lambda self: self.scale**2)

    _standard = staticmethod(torch.randn)

    def _standard_log_prob(self, z):
        return -0.5 * z**2 - 0.5 * math.log(2 * math.pi)

    def _standard_cdf(self, z):
        return 0.5 * (1 + torch.erf(z * math.sqrt(0.5)))

    def icdf(self, value):
        return self.loc + self.scale * torch.erfinv(2 * value - 1) * math.sqrt(2)

    _mean_carrier_measure = 0

    _natural_params = property(lambda self: (self.loc / self.scale**2, -0.5 * self.scale**-2))

    def _log_normalizer(self, x, y):
        return -0.25 * x**2 / y + 0.5 * torch.log(-math.pi / y)


class Laplace(LocationScale):
    """The Laplace distribution, which falls off as exp(-|x - loc| / scale)."""

    _standard_entropy = 1 + math.log(2)

    mean = mode = property(lambda self: self.loc)
    stddev = property(lambda self: 2**0.5 * self.scale)
    variance = property(lambda self: 2 * self.scale**2)

    def _standard(self, shape, **like):
        u = open_uniform(shape, **like) - 0.5
        return -u.sign() * torch.log1p(-2 * u.abs().clamp(max=0.5 - torch.finfo(u.dtype).eps))

    def _standard_log_prob(self, z):
        return -z.abs() - math.log(2)

    def _standard_cdf(self, z):
        return 0.5 - 0.5 * z.sign() * torch.expm1(-z.abs())

    def icdf(self, value):
        half = value - 0.5
        return self.loc - self.scale * half.sign() * torch.log1p(-2 * half.abs())


class Cauchy(LocationScale):
    """The Cauchy distribution: tails so long that it has no mean."""

    _standard_entropy = math.log(4 * math.pi)

    mean = property(lambda self: torch.full_like(self.loc, math.nan))
    mode = property(lambda self: self.loc)
    variance = property(lambda self: torch.full_like(self.loc, math.inf))

    def _standard(self, shape, **like):
        return torch.tan(math.pi * (open_uniform(shape, **like) - 0.5))

    def _standard_log_prob(self, z):
        return -math.log(math.pi) - torch.log1p(z**2)

    def _standard_cdf(self, z):
        return torch.atan(z) / math.pi + 0.5

    def icdf(self, value):
        return torch.tan(math.pi * (value - 0.5)) * self.scale + self.loc


class Gumbel(LocationScale):
    """The Gumbel distribution, of the greatest of many samples."""

    _standard_entropy = 1 + EULER

    mean = property(lambda self: self.loc + self.scale * EULER)
    mode = property(lambda self: self.loc)
    stddev = property(lambda self: math.pi / math.sqrt(6) * self.scale)
    variance = property(lambda self: self.stddev**2)

    def _standard(self, shape, **like):
        return -torch.log(-torch.log(open_uniform(shape, **like)))

    def _standard_log_prob(self, z):
        return -z - torch.exp(-z)

    def _standard_cdf(self, z):
        return torch.exp(-torch.exp(-z))

    def icdf(self, value):
        return self.loc - self.scale * torch.log(-torch.log(value))


class Uniform(Distribution):
    """Every number in [low, high) alike."""

    has_rsample = True

    def __init__(self, low, high, validate_args=None):
        self._begin(validate_args, low=low, high=high)

    @property
    def arg_constraints(self):
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    support = constraints.dependent_property(
        lambda self: constraints.interval(self.low, self.high), is_discrete=False, event_dim=0
    )
    mean = property(lambda self: (self.high + self.low) / 2)
    mode = property(lambda self: torch.full_like(self.low, float("nan")))
    stddev = property(lambda self: (self.high - self.low) / 12**0.5)
    variance = property(lambda self: (self.high - self.low) ** 2 / 12)

    def rsample(self, sample_shape=()):
        return self.icdf(self._noise(torch.rand, sample_shape, self.low))

    def _log_prob(self, value):
        inside = (self.low <= value) & (self.high > value)
        return inside.to(self.low.dtype).log() - (self.high - self.low).log()

    def _cdf(self, value):
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value):
        return value * (self.high - self.low) + self.low

    def entropy(self):
        return (self.high - self.low).log()
