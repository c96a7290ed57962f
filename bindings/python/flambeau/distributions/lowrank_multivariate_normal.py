"""LowRankMultivariateNormal: normal vectors whose covariance is W W^T + diag(D), with a narrow W.

Determinant and inverse follow from the small matrix C = I + W^T D^-1 W, the capacitance (Woodbury's
identity and the matrix determinant lemma), so that nothing of n x n is factored."""

import math

from .. import _torch as torch
from . import constraints
from .distribution import Distribution, lazy_property
from .multivariate_normal import _solved


class LowRankMultivariateNormal(Distribution):
    """Normal vectors around `loc` with covariance cov_factor cov_factor^T + diag(cov_diag)."""

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True
    _own = tuple(arg_constraints)
    _kept = "_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril"

    def __init__(self, loc, cov_factor, cov_diag, validate_args=None):
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        n = loc.shape[-1]
        if cov_factor.dim() < 2:
            raise ValueError(
                "cov_factor must be at least two-dimensional, with optional leading batch "
                "dimensions"
            )
        if cov_factor.shape[-2] != n:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {n} x m")
        if tuple(cov_diag.shape[-1:]) != (n,):
            raise ValueError(f"cov_diag must be a batch of vectors with shape {loc.shape[-1:]}")
        batches = loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1]
        try:
            batch = torch.broadcast_shapes(*map(tuple, batches))
        except RuntimeError as problem:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, "
                f"cov_diag {cov_diag.shape}"
            ) from problem
        self.loc, self.cov_diag = loc.expand((*batch, n)), cov_diag.expand((*batch, n))
        self.cov_factor = cov_factor.expand((*batch, *cov_factor.shape[-2:]))
        self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag = cov_factor, cov_diag
        scaled = cov_factor.mT / cov_diag.unsqueeze(-2)
        one = torch.eye(cov_factor.shape[-1], dtype=loc.dtype, device=loc.device)
        self._capacitance_tril = torch.linalg.cholesky(scaled @ cov_factor + one)
        super().__init__(batch, (n,), validate_args)

    mean = mode = property(lambda self: self.loc)

    def _expanded(self, value, shape):
        return value.expand((*self._batch_shape, *shape))

    @lazy_property
    def variance(self):
        """The covariance's diagonal."""
        found = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return self._expanded(found, self._event_shape)

    @lazy_property
    def covariance_matrix(self):
        """W W^T + diag(D)."""
        factor, diag = self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag
        return self._expanded(factor @ factor.mT + diag.diag_embed(), self._event_shape * 2)

    @lazy_property
    def scale_tril(self):
        """The covariance's lower Cholesky factor, taken of a matrix with unit diagonal added."""
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        scaled = self._unbroadcasted_cov_factor / root
        one = torch.eye(scaled.shape[-2], dtype=root.dtype, device=root.device)
        found = root * torch.linalg.cholesky(scaled @ scaled.mT + one)
        return self._expanded(found, self._event_shape * 2)

    @lazy_property
    def precision_matrix(self):
        """The inverse of the covariance."""
        half = self._reduced()
        found = self._unbroadcasted_cov_diag.reciprocal().diag_embed() - half.mT @ half
        return self._expanded(found, self._event_shape * 2)

    def _reduced(self):
        """The matrix whose square is what the factor takes from the inverse of the diagonal."""
        scaled = self._unbroadcasted_cov_factor.mT / self._unbroadcasted_cov_diag.unsqueeze(-2)
        return torch.linalg.solve_triangular(self._capacitance_tril, scaled, upper=False)

    def _log_det(self):
        diagonal = self._capacitance_tril.diagonal(dim1=-2, dim2=-1)
        return 2 * diagonal.log().sum(-1) + self._unbroadcasted_cov_diag.log().sum(-1)

    def _squared_distance(self, x):
        """x^T covariance^-1 x."""
        scaled = self._unbroadcasted_cov_factor.mT / self._unbroadcasted_cov_diag.unsqueeze(-2)
        taken = _solved(self._capacitance_tril, (scaled @ x.unsqueeze(-1)).squeeze(-1))
        return (x.pow(2) / self._unbroadcasted_cov_diag).sum(-1) - taken.pow(2).sum(-1)

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        like = {"dtype": self.loc.dtype, "device": self.loc.device}
        common = torch.randn((*shape[:-1], self.cov_factor.shape[-1]), **like)
        own = torch.randn(shape, **like)
        shared = (self._unbroadcasted_cov_factor @ common.unsqueeze(-1)).squeeze(-1)
        return self.loc + shared + self._unbroadcasted_cov_diag.sqrt() * own

    def _log_prob(self, value):
        distance = self._squared_distance(value - self.loc)
        constant = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (constant + self._log_det() + distance)

    def entropy(self):
        constant = self._event_shape[0] * (1 + math.log(2 * math.pi))
        return (0.5 * (constant + self._log_det())).expand(self._batch_shape)
