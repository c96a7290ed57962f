"""Normal vectors: MultivariateNormal, whose Cholesky factor carries everything, and what a
distribution with such a parameter is made of."""

import math

from .. import _torch as torch
from . import constraints
from .distribution import Distribution, lazy_property


class HasScaleMatrix(Distribution):
    """The parameter that is a covariance, its inverse or its lower Cholesky factor: one of them is
    given, as `_name` says, and `_unbroadcasted_scale_tril` is the factor without the batch's
    expansion."""

    _kept = "_name", "_unbroadcasted_scale_tril"

    def _expanded(self, matrix):
        n = self._event_shape[0]
        return matrix.expand((*self._batch_shape, n, n))

    @lazy_property
    def scale_tril(self):
        """The lower triangle."""
        return self._expanded(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self):
        """The square of the triangle."""
        return self._expanded(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self):
        """The inverse of the covariance."""
        return self._expanded(torch.cholesky_inverse(self._unbroadcasted_scale_tril))

    def _half_log_det(self):
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def chosen(covariance_matrix, precision_matrix, scale_tril):
    """The name and the value of the one matrix that is given."""
    given = {
        "covariance_matrix": covariance_matrix,
        "precision_matrix": precision_matrix,
        "scale_tril": scale_tril,
    }
    given = [(name, value) for name, value in given.items() if value is not None]
    if len(given) != 1:
        raise ValueError(
            "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified."
        )
    ((name, matrix),) = given
    if matrix.dim() < 2:
        raise ValueError(
            f"{name} must be at least two-dimensional, with optional leading batch dimensions"
        )
    return name, matrix


def factor(name, matrix):
    """The lower Cholesky factor of the covariance."""
    if name == "scale_tril":
        return matrix
    if name == "covariance_matrix":
        return torch.linalg.cholesky(matrix)
    return _factor_of_inverse(matrix)


class MultivariateNormal(HasScaleMatrix):
    """Normal vectors around `loc`, with a covariance, its inverse (precision) or its lower
    Cholesky factor (`scale_tril`), of which one is given."""

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc, covariance_matrix=None, precision_matrix=None, scale_tril=None,
                 validate_args=None):  # fmt: skip
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        self._name, matrix = chosen(covariance_matrix, precision_matrix, scale_tril)
        batch = torch.broadcast_shapes(tuple(matrix.shape[:-2]), tuple(loc.shape[:-1]))
        self.loc = loc.expand((*batch, -1))
        setattr(self, self._name, matrix.expand((*batch, -1, -1)))
        self._own = "loc", self._name
        super().__init__(batch, self.loc.shape[-1:], validate_args)
        self._unbroadcasted_scale_tril = factor(self._name, matrix)

    mean = mode = property(lambda self: self.loc)

    @property
    def variance(self):
        found = self._unbroadcasted_scale_tril.pow(2).sum(-1)
        return found.expand((*self._batch_shape, *self._event_shape))

    def rsample(self, sample_shape=()):
        normal = self._noise(torch.randn, sample_shape, self.loc)
        return self.loc + (self._unbroadcasted_scale_tril @ normal.unsqueeze(-1)).squeeze(-1)

    def _log_prob(self, value):
        squares = _solved(self._unbroadcasted_scale_tril, value - self.loc).pow(2).sum(-1)
        constant = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (constant + squares) - self._half_log_det()

    def entropy(self):
        constant = 0.5 * self._event_shape[0] * (1 + math.log(2 * math.pi))
        return (constant + self._half_log_det()).expand(self._batch_shape)

    def _shown_parameters(self):
        return ["loc", self._name]


def _solved(tril, x):
    """L^-1 x for vectors x, whose leading sizes broadcast with the factors'."""
    return torch.linalg.solve_triangular(tril, x.unsqueeze(-1), upper=False).squeeze(-1)


def _factor_of_inverse(precision):
    """The lower Cholesky factor of the inverse: turned by a half, an upper factor is a lower one
    whose inverse is what is wanted."""
    turned = torch.linalg.cholesky(precision.flip((-2, -1)))
    upper = turned.flip((-2, -1)).mT
    one = torch.eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return torch.linalg.solve_triangular(upper, one, upper=False)
