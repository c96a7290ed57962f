"""Exponential families: distributions whose log-density is linear in some natural parameters, so
that entropies and divergences follow from the log-normalizer's gradient.

Source: Nielsen and Nock 2010, Entropies and cross-entropies of exponential families."""

from .. import _torch as torch
from ..autograd import grad
from .distribution import Distribution, sum_rightmost


class ExponentialFamily(Distribution):
    """A kind of it has `_natural_params`, `_log_normalizer` of them, and the expected logarithm of
    the measure that carries it."""

    @property
    def _natural_params(self):
        raise NotImplementedError

    def _log_normalizer(self, *natural_params):
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self):
        raise NotImplementedError

    def _normalizer_and_slopes(self):
        """Natural parameters of our own, the log-normalizer and its gradient."""
        with torch.enable_grad():
            given = [p.detach().requires_grad_() for p in self._natural_params]
            found = self._log_normalizer(*given)
            slopes = grad(found.sum(), given, create_graph=True)
        return given, found, slopes

    def entropy(self):
        carrier = self._mean_carrier_measure
        given, found, slopes = self._normalizer_and_slopes()
        terms = [sum_rightmost(p * g, p.dim() - found.dim()) for p, g in zip(given, slopes)]
        return found - sum(terms) - carrier
