"""ContinuousBernoulli: numbers in [0, 1] with a density proportional to p**x (1 - p)**(1 - x).

Near p = 1/2 the closed forms cancel; inside `lims` their Taylor series are used.
Source: Loaiza-Ganem and Cunningham 2019, The continuous Bernoulli."""

import math

from flambeau.nn import functional as F

from .. import _torch as torch
from . import constraints
from .bernoulli import _Trial
from .distribution import clamped, lazy_property
from .exp_family import ExponentialFamily


class ContinuousBernoulli(_Trial, ExponentialFamily):
    """A number in [0, 1] where Bernoulli has 0 or 1."""

    support = constraints.unit_interval
    has_rsample = True
    _kept = "_name", "_lims"
    _mean_carrier_measure = 0

    def __init__(self, probs=None, logits=None, lims=(0.499, 0.501), validate_args=None):
        self._lims = lims
        super().__init__(probs, logits, validate_args)
        if probs is not None:
            self.probs = clamped(self.probs)

    @lazy_property
    def probs(self):
        """The parameter, kept off 0 and 1."""
        return clamped(torch.sigmoid(self.logits))

    param_shape = property(lambda self: self._given.size())

    def _is_far(self, p, middle=0.0):
        """Where the closed forms are exact."""
        return (p <= self._lims[0] - middle) | (p > self._lims[1] - middle)

    def _far(self):
        """Where they are, and a parameter that they can take."""
        far = self._is_far(self.probs)
        return far, torch.where(far, self.probs, self._lims[0])

    @staticmethod
    def _log_odds(p):
        return torch.log1p(-p) - p.log()

    def _cont_bern_log_norm(self):
        far, p = self._far()
        found = self._log_odds(p).abs().log() - (1 - 2 * p).abs().log()
        x = (self.probs - 0.5) ** 2
        return torch.where(far, found, math.log(2) + (4 / 3 + 104 / 45 * x) * x)

    @property
    def mean(self):
        far, p = self._far()
        x = self.probs - 0.5
        near = 0.5 + (1 / 3 + 16 / 45 * x**2) * x
        return torch.where(far, p / (2 * p - 1) + 1 / self._log_odds(p), near)

    @property
    def variance(self):
        far, p = self._far()
        x = (self.probs - 0.5) ** 2
        near = 1 / 12 - (1 / 15 - 128 / 945 * x) * x
        return torch.where(far, p * (p - 1) / (1 - 2 * p) ** 2 + self._log_odds(p) ** -2, near)

    def rsample(self, sample_shape=()):
        return self.icdf(self._noise(torch.rand, sample_shape, self._given))

    def _log_prob(self, value):
        logits, value = torch.broadcast_tensors(self.logits, value)
        loss = F.binary_cross_entropy_with_logits(logits, value, reduction="none")
        return self._cont_bern_log_norm() - loss

    def _cdf(self, value):
        far, p = self._far()
        found = (p**value * (1 - p) ** (1 - value) + p - 1) / (2 * p - 1)
        found = torch.where(far, found, value)
        return torch.where(value <= 0, 0.0, torch.where(value >= 1, 1.0, found))

    def icdf(self, value):
        far, p = self._far()
        found = torch.log1p(-p + value * (2 * p - 1)) - torch.log1p(-p)
        return torch.where(far, -found / self._log_odds(p), value)

    def entropy(self):
        p = self.probs
        return self.mean * self._log_odds(p) - self._cont_bern_log_norm() - torch.log1p(-p)

    _natural_params = property(lambda self: (self.logits,))

    def _log_normalizer(self, x):
        far = self._is_far(x, 0.5)
        safe = torch.where(far, x, self._lims[0] - 0.5)
        found = torch.expm1(safe).abs().log() - safe.abs().log()
        return torch.where(far, found, 0.5 * x + x**2 / 24 - x**4 / 2880)
