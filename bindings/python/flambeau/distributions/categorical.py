"""One of n classes: as its number (Categorical) or as a vector with a single 1.

Probabilities are normalised to sum to 1, logits so that their exponentials do."""

from .. import _torch as torch
from ..nn.functional import one_hot
from . import constraints
from .distribution import Distribution, clamped, lazy_property, probs_or_logits


class _Classes(Distribution):
    """The shared parameter: the last dimension are the classes."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _kept = ("_name",)

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._name = probs_or_logits(probs, logits)
        self._own = (self._name,)
        given = logits if probs is None else probs
        if given.dim() < 1:
            raise ValueError(f"`{self._name}` parameter must be at least one-dimensional.")
        if probs is not None:
            self.probs = probs / probs.sum(-1, keepdim=True)
        else:
            self.logits = logits - logits.logsumexp(-1, keepdim=True)
        events = given.size()[-1:] if self._vectors else ()
        super().__init__(given.size()[:-1], events, validate_args)

    _given = property(lambda self: getattr(self, self._name))
    _num_events = property(lambda self: self._given.size()[-1])
    param_shape = property(lambda self: self._given.size())

    @lazy_property
    def probs(self):
        """The classes' probabilities."""
        return torch.softmax(self.logits, -1)

    @lazy_property
    def logits(self):
        """The logarithms of the probabilities."""
        return clamped(self.probs).log()

    def _classes(self, sample_shape):
        """Numbers of classes, sample_shape + batch_shape."""
        shape = torch.Size(sample_shape)
        rows = self.probs.reshape(-1, self._num_events)
        drawn = torch.multinomial(rows, shape.numel(), True).T
        return drawn.reshape((*shape, *self._batch_shape))

    def entropy(self):
        lowest = torch.finfo(self.logits.dtype).min
        return -(self.logits.clamp(min=lowest) * self.probs).sum(-1)

    def _shown_parameters(self):
        return [self._name]


class Categorical(_Classes):
    """The number of a class, 0 to n - 1."""

    _vectors = False

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def mean(self):
        return torch.full(
            self._batch_shape, float("nan"), dtype=self.probs.dtype, device=self.probs.device
        )

    variance = mean
    mode = property(lambda self: self.probs.argmax(-1))

    def _drawn(self, sample_shape):
        return self._classes(sample_shape)

    def _log_prob(self, value):
        value = value.long().unsqueeze(-1)
        shape = torch.broadcast_shapes(tuple(value.shape[:-1]), tuple(self.logits.shape[:-1]))
        logits = self.logits.expand((*shape, self._num_events))
        return logits.gather(-1, value.expand((*shape, 1))).squeeze(-1)

    def enumerate_support(self, expand=True):
        return self._listed(torch.arange(self._num_events, device=self._given.device), expand)


class OneHotCategorical(_Classes):
    """A class as a vector with a single 1."""

    _vectors = True
    support = constraints.one_hot

    mean = property(lambda self: self.probs)
    variance = property(lambda self: self.probs * (1 - self.probs))
    mode = property(lambda self: self._one_hot(self.probs.argmax(-1)))
    _categorical = property(lambda self: Categorical(logits=self.logits))

    def _one_hot(self, classes):
        return one_hot(classes, self._num_events).to(self.probs.dtype)

    def _drawn(self, sample_shape):
        return self._one_hot(self._classes(sample_shape))

    def _log_prob(self, value):
        at = value.argmax(-1, keepdim=True)  # not a product: 0 times -inf is no number
        shape = torch.broadcast_shapes(self._batch_shape, at.shape[:-1])
        rows = self.logits.expand(*shape, self._num_events)
        return rows.gather(-1, at.expand(*shape, 1)).squeeze(-1)

    def enumerate_support(self, expand=True):
        n = self._num_events
        values = torch.eye(n, dtype=self._given.dtype, device=self._given.device)
        values = values.view(n, *[1] * len(self._batch_shape), n)
        return values.expand(n, *self._batch_shape, n) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """Samples whose gradient is that of the probabilities (Bengio et al. 2013,
    arXiv:1308.3432)."""

    has_rsample = True

    def rsample(self, sample_shape=()):
        return self.sample(sample_shape) + (self.probs - self.probs.detach())
