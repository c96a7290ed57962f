"""MixtureSameFamily: a categorical choice among the last batch dimension of a distribution."""

from .. import _torch as torch
from . import constraints
from .categorical import Categorical
from .distribution import Distribution


class MixtureSameFamily(Distribution):
    """A sample of the component that `mixture_distribution` chooses."""

    def __init__(self, mixture_distribution, component_distribution, validate_args=None):
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(
                "The Mixture distribution needs to be an instance of "
                "torch.distributions.Categorical"
            )
        if not isinstance(component_distribution, Distribution):
            raise ValueError(
                "The Component distribution needs to be an instance of "
                "torch.distributions.Distribution"
            )
        self.mixture_distribution = mixture_distribution
        self.component_distribution = component_distribution
        batch, mixing = component_distribution.batch_shape[:-1], mixture_distribution.batch_shape
        for a, b in zip(reversed(mixing), reversed(batch)):
            if a != 1 and b != 1 and a != b:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({mixing}) is not compatible with "
                    f"`component_distribution.batch_shape`({batch})"
                )
        chosen = mixture_distribution.param_shape[-1]
        components = component_distribution.batch_shape[-1]
        if chosen != components:
            raise ValueError(
                f"`mixture_distribution component` ({chosen}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({components})"
            )
        super().__init__(batch, component_distribution.event_shape, validate_args)

    arg_constraints = {}
    has_rsample = False
    _dim = property(lambda self: -1 - len(self._event_shape))  # that of the components

    @constraints.dependent_property
    def support(self):
        return constraints.MixtureSameFamilyConstraint(self.component_distribution.support)

    def expand(self, batch_shape, _instance=None):
        components = self.component_distribution.batch_shape[-1]
        inner = self.component_distribution.expand((*batch_shape, components))
        choice = self.mixture_distribution.expand(batch_shape)
        held = {"component_distribution": inner, "mixture_distribution": choice}
        return self._like(batch_shape, _instance, **held)

    def _averaged(self, values):
        """The components' values, weighted with their probabilities."""
        weights = self.mixture_distribution.probs
        weights = weights.reshape((*weights.shape, *[1] * len(self._event_shape)))
        return (weights * values).sum(self._dim)

    mean = property(lambda self: self._averaged(self.component_distribution.mean))

    @property
    def variance(self):
        inner = self.component_distribution
        apart = (inner.mean - self.mean.unsqueeze(self._dim)) ** 2
        return self._averaged(inner.variance) + self._averaged(apart)

    def cdf(self, value):
        found = self.component_distribution.cdf(value.unsqueeze(self._dim))
        return (found * self.mixture_distribution.probs).sum(-1)

    def _log_prob(self, value):
        found = self.component_distribution.log_prob(value.unsqueeze(self._dim))
        weights = torch.log_softmax(self.mixture_distribution.logits, -1)
        return torch.logsumexp(found + weights, -1)

    def _drawn(self, sample_shape):
        choice = self.mixture_distribution.expand(self._batch_shape).sample(sample_shape)
        values = self.component_distribution.sample(sample_shape)
        place = values.dim() + self._dim
        index = choice.reshape((*choice.shape, *[1] * (values.dim() - place)))
        index = index.expand((*choice.shape, 1, *self._event_shape))
        return values.gather(place, index).squeeze(place)

    def __repr__(self):
        inner = f"{self.mixture_distribution},\n  {self.component_distribution}"
        return f"MixtureSameFamily(\n  {inner})"
