"""Independent: the last dimensions of a batch taken as one event."""

from .. import _torch as torch
from . import constraints
from .distribution import Distribution, sum_rightmost


class Independent(Distribution):
    """`base_distribution` with its last `reinterpreted_batch_ndims` batch dimensions as parts of
    the event: their log-probabilities and entropies are summed."""

    def __init__(self, base_distribution, reinterpreted_batch_ndims, validate_args=None):
        batch = base_distribution.batch_shape
        if reinterpreted_batch_ndims > len(batch):
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual "
                f"{reinterpreted_batch_ndims} vs {len(batch)}"
            )
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        kept = len(batch) - reinterpreted_batch_ndims
        events = (*batch[kept:], *base_distribution.event_shape)
        super().__init__(batch[:kept], events, validate_args)

    arg_constraints = {}
    has_rsample = property(lambda self: self.base_dist.has_rsample)
    mean = property(lambda self: self.base_dist.mean)
    mode = property(lambda self: self.base_dist.mode)
    variance = property(lambda self: self.base_dist.variance)

    @constraints.dependent_property
    def support(self):
        base, n = self.base_dist.support, self.reinterpreted_batch_ndims
        return constraints.independent(base, n) if n else base

    def _summed(self, values):
        return sum_rightmost(values, self.reinterpreted_batch_ndims)

    def expand(self, batch_shape, _instance=None):
        inner = (*batch_shape, *self.event_shape[: self.reinterpreted_batch_ndims])
        held = {
            "base_dist": self.base_dist.expand(torch.Size(inner)),
            "reinterpreted_batch_ndims": self.reinterpreted_batch_ndims,
        }
        return self._like(batch_shape, _instance, **held)

    def sample(self, sample_shape=()):
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape=()):
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value):
        return self._summed(self.base_dist.log_prob(value))

    def entropy(self):
        return self._summed(self.base_dist.entropy())

    def __repr__(self):
        return f"Independent({self.base_dist}, {self.reinterpreted_batch_ndims})"
