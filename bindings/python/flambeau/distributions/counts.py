"""Distributions over counts: Poisson, Binomial, NegativeBinomial, Multinomial."""

from flambeau.nn import functional as F

from .. import _torch as torch
from . import constraints
from .bernoulli import _Trial
from .categorical import Categorical
from .distribution import Distribution, broadcast, probs_or_logits
from .exp_family import ExponentialFamily
from .gamma import Gamma


class Poisson(ExponentialFamily):
    """The number of events where `rate` are expected."""

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer

    def __init__(self, rate, validate_args=None):
        self._begin(validate_args, rate=rate)

    mean = variance = property(lambda self: self.rate)
    mode = property(lambda self: self.rate.floor())

    def _drawn(self, sample_shape):
        return torch.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def _log_prob(self, value):
        rate, value = torch.broadcast_tensors(self.rate, value)
        return torch.xlogy(value, rate) - rate - torch.lgamma(value + 1)

    _natural_params = property(lambda self: (torch.log(self.rate),))

    def _log_normalizer(self, x):
        return torch.exp(x)


class Binomial(_Trial):
    """The number of successes in `total_count` trials."""

    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        self._name = probs_or_logits(probs, logits)
        given = logits if probs is None else probs
        count, given = broadcast(total_count, given)
        self.total_count = count.to(given.dtype)
        setattr(self, self._name, given)
        self._own = "total_count", self._name
        Distribution.__init__(self, given.size(), (), validate_args)

    support = constraints.dependent_property(
        lambda self: constraints.integer_interval(0, self.total_count),
        is_discrete=True,
        event_dim=0,
    )
    mean = property(lambda self: self.total_count * self.probs)
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))
    param_shape = property(lambda self: self._given.size())

    @property
    def mode(self):
        found = ((self.total_count + 1) * self.probs).floor()
        return torch.minimum(found, self.total_count)

    def _drawn(self, sample_shape):
        shape = self._extended_shape(sample_shape)
        return torch.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def _log_prob(self, value):
        n = self.total_count
        chosen = torch.lgamma(n + 1) - torch.lgamma(value + 1) - torch.lgamma(n - value + 1)
        # n log(1 + e^logits), which the logits leave where they are great
        return chosen + value * self.logits - n * F.softplus(self.logits)

    def entropy(self):
        values = self.enumerate_support(False)
        found = self.log_prob(values)
        return -(found.exp() * found).sum(0)

    def enumerate_support(self, expand=True):
        total = int(self.total_count.max())
        if not self.total_count.min() == total:
            raise NotImplementedError(
                "Inhomogeneous total count not supported by `enumerate_support`."
            )
        like = {"dtype": self._given.dtype, "device": self._given.device}
        return self._listed(torch.arange(1 + total, **like), expand)

    def _shown_parameters(self):
        return ["total_count", self._name]


class NegativeBinomial(_Trial):
    """The number of successes before `total_count` failures, each trial a success with
    probability `probs`: a Poisson variable whose rate is a gamma variable."""

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(self, total_count, probs=None, logits=None, validate_args=None):
        Binomial.__init__(self, total_count, probs, logits, validate_args)

    mean = property(lambda self: self.total_count * self.logits.exp())
    variance = property(lambda self: self.mean / torch.sigmoid(-self.logits))
    param_shape = property(lambda self: self._given.size())
    mode = property(lambda self: ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0))

    _shown_parameters = Distribution._shown_parameters

    def _drawn(self, sample_shape):
        rate = Gamma(self.total_count, torch.exp(-self.logits), validate_args=False)
        return torch.poisson(rate.sample(sample_shape))

    def _log_prob(self, value):
        n = self.total_count
        trials = n * F.logsigmoid(-self.logits) + value * F.logsigmoid(self.logits)
        ways = torch.lgamma(n + value) - torch.lgamma(1.0 + value) - torch.lgamma(n)
        return trials + torch.where(n + value == 0, 0.0, ways)


class Multinomial(Distribution):
    """How often each category comes up in `total_count` draws."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    _own, _kept = ("_categorical",), ("total_count",)

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        super().__init__(self._categorical.batch_shape, self.probs.shape[-1:], validate_args)

    probs = property(lambda self: self._categorical.probs)
    logits = property(lambda self: self._categorical.logits)
    mean = property(lambda self: self.probs * self.total_count)
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))
    param_shape = property(lambda self: self._categorical.param_shape)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self):
        return constraints.multinomial(self.total_count)

    def _drawn(self, sample_shape):
        drawn = self._categorical.sample((self.total_count, *sample_shape))
        drawn = drawn.movedim(0, -1)
        counts = self.probs.new_zeros(self._extended_shape(sample_shape))
        return counts.scatter_add(-1, drawn, torch.ones_like(drawn, dtype=counts.dtype))

    def _log_prob(self, value):
        logits, value = torch.broadcast_tensors(self.logits, value)
        logits = torch.where((value == 0) & (logits == -float("inf")), 0.0, logits)
        ways = torch.lgamma(value.sum(-1) + 1) - torch.lgamma(value + 1).sum(-1)
        return ways + (logits * value).sum(-1)

    def entropy(self):
        n = torch.tensor(self.total_count, dtype=self.probs.dtype, device=self.probs.device)
        single = n * self._categorical.entropy() - torch.lgamma(n + 1)
        values = torch.arange(1, self.total_count + 1, dtype=n.dtype, device=n.device)
        values = values.view(-1, *[1] * self.probs.dim())
        binomial = Binomial(self.total_count, self.probs, validate_args=False)
        weights = binomial.log_prob(values).exp()
        return single + (weights * torch.lgamma(values + 1)).sum((0, -1))

    def __repr__(self):
        return f"Multinomial(total_count: {self.total_count}, probs: {self.probs.size()})"
