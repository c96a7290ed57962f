"""A distribution of transformed values: densities follow from those of the base and the transforms'
Jacobians."""

import math

from .. import _torch as torch
from . import constraints
from .distribution import Distribution, sum_rightmost
from .independent import Independent
from .transforms import ComposeTransform, Transform


class TransformedDistribution(Distribution):
    """What `transforms`, one after the other, make of samples of `base_distribution`."""

    def __init__(self, base_distribution, transforms, validate_args=None):
        if isinstance(transforms, Transform):
            transforms = [transforms]
        elif not isinstance(transforms, list):
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        elif not all(isinstance(t, Transform) for t in transforms):
            raise ValueError("transforms must be a Transform or a list of Transforms")
        self.transforms, whole = transforms, ComposeTransform(transforms)
        shape = base_distribution.batch_shape + base_distribution.event_shape
        events = len(base_distribution.event_shape)
        if len(shape) < whole.domain.event_dim:
            raise ValueError(
                "base_distribution needs to have shape with size at least "
                f"{whole.domain.event_dim}, but got {shape}."
            )
        # Parameters of transforms may be of a larger batch than the base.
        result = whole.forward_shape(shape)
        needed = whole.inverse_shape(result)
        if tuple(needed) != tuple(shape):
            base_distribution = base_distribution.expand(needed[: len(needed) - events])
        if whole.domain.event_dim > events:
            base_distribution = Independent(base_distribution, whole.domain.event_dim - events)
        self.base_dist = base_distribution
        change = whole.codomain.event_dim - whole.domain.event_dim
        cut = len(result) - max(whole.codomain.event_dim, events + change)
        super().__init__(result[:cut], result[cut:], validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        shape = torch.Size((*batch_shape, *self._event_shape))
        for transform in reversed(self.transforms):
            shape = transform.inverse_shape(shape)
        base = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])
        own = [name for name in self.arg_constraints if name in self.__dict__]
        held = {name: getattr(self, name).expand(batch_shape) for name in own}
        held.update(base_dist=base, transforms=self.transforms)
        return self._like(batch_shape, _instance, **held)

    @constraints.dependent_property(is_discrete=False)
    def support(self):
        if not self.transforms:
            return self.base_dist.support
        found = self.transforms[-1].codomain
        more = len(self._event_shape) - found.event_dim
        return constraints.independent(found, more) if more > 0 else found

    arg_constraints = {}
    has_rsample = property(lambda self: self.base_dist.has_rsample)

    def _forward(self, value):
        for transform in self.transforms:
            value = transform(value)
        return value

    def _drawn(self, sample_shape):
        return self._forward(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape=()):
        return self._forward(self.base_dist.rsample(sample_shape))

    def _log_prob(self, value):
        dims, found, y = len(self._event_shape), 0.0, value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            dims += transform.domain.event_dim - transform.codomain.event_dim
            slope = transform.log_abs_det_jacobian(x, y)
            found = found - sum_rightmost(slope, dims - transform.domain.event_dim)
            y = x
        base = self.base_dist.log_prob(y)
        return found + sum_rightmost(base, dims - len(self.base_dist.event_shape))

    def _turned(self, value):
        """Probabilities counted from the other side where the transforms fall."""
        sign = math.prod(transform.sign for transform in self.transforms)
        if isinstance(sign, int) and sign == 1:
            return value
        return sign * (value - 0.5) + 0.5

    def cdf(self, value):
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._turned(self.base_dist.cdf(value))

    def icdf(self, value):
        return self._forward(self.base_dist.icdf(self._turned(value)))
