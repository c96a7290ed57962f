"""Continuous relaxations of Bernoulli and categorical variables, whose samples have gradients:
at a low temperature they lie near 0 and 1.

Source: Maddison, Mnih, Teh 2017, The Concrete distribution; Jang, Gu, Poole 2017,
Categorical reparameterization with Gumbel-softmax."""

import math

from flambeau.nn import functional as F

from .. import _torch as torch
from . import constraints
from .bernoulli import _Trial
from .categorical import Categorical
from .distribution import Distribution, clamped
from .transformed_distribution import TransformedDistribution
from .transforms import ExpTransform, SigmoidTransform


class LogitRelaxedBernoulli(_Trial):
    """The logit of a RelaxedBernoulli variable."""

    support = constraints.real
    has_rsample = True
    _kept = "_name", "temperature"

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        self.temperature = temperature
        super().__init__(probs, logits, validate_args)

    param_shape = property(lambda self: self._given.size())

    def rsample(self, sample_shape=()):
        u = clamped(self._noise(torch.rand, sample_shape, self._given))
        p = clamped(self.probs.expand(u.shape))
        return (u.log() - torch.log1p(-u) + p.log() - torch.log1p(-p)) / self.temperature

    def _log_prob(self, value):
        difference = self.logits - value * self.temperature
        return self.temperature.log() + difference - 2 * F.softplus(difference)


class _Relaxed(TransformedDistribution):
    """A transformed variable that shows the parameters of its base."""

    has_rsample = True

    temperature = property(lambda self: self.base_dist.temperature)
    logits = property(lambda self: self.base_dist.logits)
    probs = property(lambda self: self.base_dist.probs)


class RelaxedBernoulli(_Relaxed):
    """A number in (0, 1) in the place of a Bernoulli variable."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)


class ExpRelaxedCategorical(Distribution):
    """The logarithm of a RelaxedOneHotCategorical variable."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector  # in truth a surface in it
    has_rsample = True
    _own, _kept = ("_categorical",), ("temperature",)

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        self._categorical, self.temperature = Categorical(probs, logits), temperature
        inner = self._categorical
        super().__init__(inner.batch_shape, inner.param_shape[-1:], validate_args)

    logits = property(lambda self: self._categorical.logits)
    probs = property(lambda self: self._categorical.probs)
    param_shape = property(lambda self: self._categorical.param_shape)

    def rsample(self, sample_shape=()):
        u = clamped(self._noise(torch.rand, sample_shape, self.logits))
        scores = (self.logits - (-u.log()).log()) / self.temperature
        return torch.log_softmax(scores, -1)

    def _log_prob(self, value):
        k = self._categorical._num_events
        scores = torch.log_softmax(self.logits - value * self.temperature, -1).sum(-1)
        return scores + math.lgamma(k) + (k - 1) * self.temperature.log()


class RelaxedOneHotCategorical(_Relaxed):
    """A vector of shares in the place of one with a single 1."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)
