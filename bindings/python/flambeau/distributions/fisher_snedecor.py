"""FisherSnedecor: the ratio of two gamma variables, each over its degrees of freedom.

Source: Johnson, Kotz, Balakrishnan, Continuous Univariate Distributions, 2nd ed., chapter 27."""

import math

from .. import _torch as torch
from . import constraints
from .distribution import Distribution
from .gamma import Gamma


class FisherSnedecor(Distribution):
    """The ratio of two Chi2 variables, each over its degrees of freedom, `df1` and `df2`."""

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, df1, df2, validate_args=None):
        self._begin(validate_args, df1=df1, df2=df2)

    @property
    def mean(self):
        return torch.where(self.df2 <= 2, math.nan, self.df2 / (self.df2 - 2))

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

    def log_prob(self, value):
        self._checked(value)
        a, b, ratio = self.df1 / 2, self.df2 / 2, self.df1 / self.df2
        constant = torch.lgamma(a + b) - torch.lgamma(a) - torch.lgamma(b)
        slope = a * ratio.log() + (a - 1) * value.log()
        return constant + slope - (a + b) * torch.log1p(ratio * value)
