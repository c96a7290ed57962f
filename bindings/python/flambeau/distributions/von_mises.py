"""VonMises: angles around a mean, the circle's normal distribution.

Source: Best and Fisher 1979, Efficient simulation of the von Mises distribution."""

import math

from .. import _torch as torch
from . import constraints
from .distribution import Distribution, lazy_property


def _log_bessel(x, order):
    """log I0(x) or log I1(x) of positive numbers."""
    return x + (torch.special.i1e if order else torch.special.i0e)(x).log()


class VonMises(Distribution):
    """Angles in [-pi, pi) around `loc`, the closer the greater `concentration` is."""

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False

    def __init__(self, loc, concentration, validate_args=None):
        self._begin(validate_args, loc=loc, concentration=concentration)

    mean = mode = property(lambda self: self.loc)

    @lazy_property
    def variance(self):
        """One minus the mean cosine of the distance from the mean."""
        k = self.concentration
        return 1 - (_log_bessel(k, 1) - _log_bessel(k, 0)).exp()

    def _log_prob(self, value):
        k = self.concentration
        return k * torch.cos(value - self.loc) - math.log(2 * math.pi) - _log_bessel(k, 0)

    @lazy_property
    def _proposal(self):
        """The parameter of the wrapped Cauchy variable that is proposed, in f64: its formula
        cancels where the concentration is small."""
        k = self.concentration.detach().double()
        tau = 1 + (1 + 4 * k**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * k)
        return torch.where(k < 1e-5, 1 / k + k, (1 + rho**2) / (2 * rho))

    def sample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        with torch.no_grad():
            k, r = self.concentration.double(), self._proposal
            found = torch.zeros(shape, dtype=k.dtype, device=k.device)
            left = torch.ones(shape, dtype=torch.bool, device=k.device)
            while left.any():
                u = torch.rand((3, *shape), dtype=k.dtype, device=k.device)
                z = torch.cos(math.pi * u[0])
                f = (1 + r * z) / (r + z)
                c = k * (r - f)
                taken = (c * (2 - c) - u[1] > 0) | ((c / u[1]).log() + 1 - c >= 0)
                found = torch.where(taken & left, (u[2] - 0.5).sign() * f.acos(), found)
                left = left & ~taken
            turned = (found + math.pi + self.loc.double()) % (2 * math.pi) - math.pi
            return turned.to(self.loc.dtype)
