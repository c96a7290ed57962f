"""Trials with two outcomes: Bernoulli, and how many fail before the first success (Geometric).

The parameter is a probability or its logit; the other one is computed on demand."""

from flambeau.nn import functional as F

from .. import _torch as torch
from . import constraints
from .distribution import Distribution, broadcast, clamped, lazy_property, probs_or_logits
from .exp_family import ExponentialFamily
from .location_scale import open_uniform


class _Trial(Distribution):
    """The shared parameter."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    _kept = ("_name",)

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._name = probs_or_logits(probs, logits)
        (given,) = broadcast(logits if probs is None else probs)
        setattr(self, self._name, given)
        self._own = (self._name,)
        super().__init__(given.size(), (), validate_args)

    _given = property(lambda self: getattr(self, self._name))

    @lazy_property
    def probs(self):
        """The probability of success."""
        return torch.sigmoid(self.logits)

    @lazy_property
    def logits(self):
        """log(probs / (1 - probs))."""
        p = clamped(self.probs)
        return torch.log(p) - torch.log1p(-p)

    def _shown_parameters(self):
        return [self._name]


class Bernoulli(_Trial, ExponentialFamily):
    """1 with probability `probs`, else 0."""

    support = constraints.boolean
    has_enumerate_support = True

    mean = property(lambda self: self.probs)
    variance = property(lambda self: self.probs * (1 - self.probs))
    param_shape = property(lambda self: self._given.size())

    @property
    def mode(self):
        found = (self.probs >= 0.5).to(self.probs.dtype)
        return torch.where(self.probs == 0.5, float("nan"), found)

    def _drawn(self, sample_shape):
        return torch.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def _log_prob(self, value):
        logits, value = torch.broadcast_tensors(self.logits, value)
        return -F.binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self):
        return F.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    _mean_carrier_measure = 0
    _natural_params = property(lambda self: (torch.logit(self.probs),))

    def _log_normalizer(self, x):
        return F.softplus(x)

    def enumerate_support(self, expand=True):
        values = torch.arange(2, dtype=self._given.dtype, device=self._given.device)
        return self._listed(values, expand)


class Geometric(_Trial):
    """How many trials fail before the first success, each with probability `probs`."""

    support = constraints.nonnegative_integer

    def _check_parameters(self):
        super()._check_parameters()
        if self._name == "probs" and not (self.probs > 0).all():
            raise ValueError(
                f"Expected parameter probs (Tensor of shape {tuple(self.probs.shape)}) of "
                f"distribution {self!r} to be positive but found invalid values:\n"
                f"{self.probs[self.probs <= 0]}"
            )

    mean = property(lambda self: 1.0 / self.probs - 1.0)
    mode = property(lambda self: torch.zeros_like(self.probs))
    variance = property(lambda self: (1.0 / self.probs - 1.0) / self.probs)

    def _drawn(self, sample_shape):
        u = self._noise(open_uniform, sample_shape, self.probs)
        return (u.log() / torch.log1p(-self.probs)).floor()

    def _log_prob(self, value):
        value, probs = torch.broadcast_tensors(value, self.probs)
        # 0 * log(0) is 0 where every trial succeeds and none failed.
        log_fail = torch.where((probs == 1) & (value == 0), 0.0, torch.log1p(-probs))
        return value * log_fail + self.probs.log()

    def entropy(self):
        p = self.probs
        return F.binary_cross_entropy_with_logits(self.logits, p, reduction="none") / p
