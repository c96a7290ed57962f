"""Distributions made of gamma variables: Gamma, Chi2, Beta, Dirichlet, StudentT, FisherSnedecor.

Samples are differentiable: a gamma variable follows its concentration at fixed probability.
Source of the formulas: Johnson, Kotz, Balakrishnan, Continuous Univariate Distributions, 2nd ed."""

import math

from .. import _torch as torch
from . import constraints
from .distribution import Distribution
from .exp_family import ExponentialFamily


def gamma_variable(concentration, shape):
    """Gamma variables of rate 1, above 0 so that their logarithms are finite."""
    drawn = torch._standard_gamma(concentration.expand(shape))
    return drawn.clamp(min=torch.finfo(drawn.dtype).tiny)


class Gamma(ExponentialFamily):
    """The gamma distribution: waiting times for `concentration` events at `rate` per unit."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, concentration, rate, validate_args=None):
        self._begin(validate_args, concentration=concentration, rate=rate)

    mean = property(lambda self: self.concentration / self.rate)
    mode = property(lambda self: ((self.concentration - 1) / self.rate).clamp(min=0))
    variance = property(lambda self: self.concentration / self.rate**2)

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        return gamma_variable(self.concentration, shape) / self.rate

    def log_prob(self, value):
        return super().log_prob(torch.as_tensor(value).to(self.rate))

    def _log_prob(self, value):
        a = self.concentration
        scaled = torch.xlogy(a, self.rate) + torch.xlogy(a - 1, value)
        return scaled - self.rate * value - torch.lgamma(a)

    def _cdf(self, value):
        return torch.special.gammainc(self.concentration, self.rate * value)

    def entropy(self):
        a = self.concentration
        return a - self.rate.log() + torch.lgamma(a) + (1 - a) * torch.digamma(a)

    _mean_carrier_measure = 0
    _natural_params = property(lambda self: (self.concentration - 1, -self.rate))

    def _log_normalizer(self, x, y):
        return torch.lgamma(x + 1) - (x + 1) * torch.log(-y)


class Chi2(Gamma):
    """The sum of squares of `df` standard normal variables."""

    arg_constraints = {"df": constraints.positive}

    def __init__(self, df, validate_args=None):
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    df = property(lambda self: self.concentration * 2)

    def _shown_parameters(self):
        return ["df"]


class Beta(ExponentialFamily):
    """The share of the first of two gamma variables in their sum."""

    arg_constraints = dict.fromkeys(("concentration1", "concentration0"), constraints.positive)
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1, concentration0, validate_args=None):
        self._begin(validate_args, concentration1=concentration1, concentration0=concentration0)

    _total = property(lambda self: self.concentration1 + self.concentration0)
    mean = property(lambda self: self.concentration1 / self._total)
    mode = property(lambda self: self._dirichlet().mode[..., 0])

    @property
    def variance(self):
        total = self._total
        return self.concentration1 * self.concentration0 / (total**2 * (total + 1))

    def _dirichlet(self):
        both = torch.stack([self.concentration1, self.concentration0], -1)
        return Dirichlet(both, validate_args=False)

    def rsample(self, sample_shape=()):
        return self._dirichlet().rsample(sample_shape)[..., 0]

    def _log_prob(self, value):
        return self._dirichlet().log_prob(torch.stack([value, 1 - value], -1))

    def entropy(self):
        return self._dirichlet().entropy()

    _natural_params = property(lambda self: (self.concentration1, self.concentration0))

    def _log_normalizer(self, x, y):
        return torch.lgamma(x) + torch.lgamma(y) - torch.lgamma(x + y)


class Dirichlet(ExponentialFamily):
    """Shares of gamma variables with given concentrations in their sum."""

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True
    _own = ("concentration",)

    def __init__(self, concentration, validate_args=None):
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args)

    mean = property(lambda self: self.concentration / self.concentration.sum(-1, True))

    @property
    def mode(self):
        above = (self.concentration - 1).clamp(min=0)
        found = above / above.sum(-1, True)
        flat = (self.concentration < 1).all(-1, keepdim=True)
        greatest = self.concentration.argmax(-1, keepdim=True)
        one = torch.zeros_like(found).scatter(-1, greatest, 1.0)
        return torch.where(flat, one, found)

    @property
    def variance(self):
        a, total = self.concentration, self.concentration.sum(-1, True)
        return a * (total - a) / (total**2 * (total + 1))

    def rsample(self, sample_shape=()):
        return torch._sample_dirichlet(
            self.concentration.expand(self._extended_shape(sample_shape))
        )

    def _log_prob(self, value):
        a = self.concentration
        constant = torch.lgamma(a.sum(-1)) - torch.lgamma(a).sum(-1)
        return torch.xlogy(a - 1, value).sum(-1) + constant

    def entropy(self):
        a, k = self.concentration, self.concentration.size(-1)
        total = a.sum(-1)
        constant = torch.lgamma(a).sum(-1) - torch.lgamma(total)
        slopes = ((a - 1) * torch.digamma(a)).sum(-1)
        return constant - (k - total) * torch.digamma(total) - slopes

    _natural_params = property(lambda self: (self.concentration,))

    def _log_normalizer(self, x):
        return torch.lgamma(x).sum(-1) - torch.lgamma(x.sum(-1))


class StudentT(Distribution):
    """A normal variable over the root of an independent Chi2 variable over its `df`."""

    arg_constraints = {
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    has_rsample = True

    def __init__(self, df, loc=0.0, scale=1.0, validate_args=None):
        self._begin(validate_args, df=df, loc=loc, scale=scale)

    mode = property(lambda self: self.loc)
    mean = property(lambda self: torch.where(self.df <= 1, math.nan, self.loc))

    @property
    def variance(self):
        found = self.scale**2 * self.df / (self.df - 2)
        found = torch.where(self.df > 2, found, math.inf)
        return torch.where(self.df > 1, found, math.nan)

    def rsample(self, sample_shape=()):
        normal = self._noise(torch.randn, sample_shape, self.df)
        chi2 = 2 * gamma_variable(self.df / 2, normal.shape)
        return self.loc + self.scale * normal * torch.rsqrt(chi2 / self.df)

    def _log_constant(self):
        half = self.df / 2
        beta = torch.lgamma(half) - torch.lgamma(half + 0.5)
        return 0.5 * self.df.log() + 0.5 * math.log(math.pi) + beta

    def _log_prob(self, value):
        y = (value - self.loc) / self.scale
        constant = self.scale.log() + self._log_constant()
        return -0.5 * (self.df + 1) * torch.log1p(y**2 / self.df) - constant

    def entropy(self):
        half = self.df / 2
        slopes = torch.digamma(half + 0.5) - torch.digamma(half)
        return self.scale.log() + 0.5 * (self.df + 1) * slopes + self._log_constant()


class FisherSnedecor(Distribution):
    """The ratio of two Chi2 variables, each over its degrees of freedom, `df1` and `df2`."""

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, df1, df2, validate_args=None):
        self._begin(validate_args, df1=df1, df2=df2)

    mean = property(lambda self: torch.where(self.df2 <= 2, math.nan, self.df2 / (self.df2 - 2)))

    @property
    def mode(self):
        found = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return torch.where(self.df1 <= 2, math.nan, found)

    @property
    def variance(self):
        m, n = self.df1, self.df2
        found = 2 * n**2 * (m + n - 2) / (m * (n - 2) ** 2 * (n - 4))
        return torch.where(n <= 4, math.nan, found)

    def rsample(self, sample_shape=()):
        first, second = (
            Gamma(df / 2, df, validate_args=False).expand(self._batch_shape).rsample(sample_shape)
            for df in (self.df1, self.df2)
        )
        tiny = torch.finfo(first.dtype).tiny
        return (first / second.clamp(min=tiny)).clamp(min=tiny)

    def _log_prob(self, value):
        a, b, ratio = self.df1 / 2, self.df2 / 2, self.df1 / self.df2
        constant = torch.lgamma(a + b) - torch.lgamma(a) - torch.lgamma(b)
        slope = a * ratio.log() + (a - 1) * value.log()
        return constant + slope - (a + b) * torch.log1p(ratio * value)
