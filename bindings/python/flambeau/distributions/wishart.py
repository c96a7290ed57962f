"""Wishart: random positive definite matrices, sums of squares of normal vectors.

Sources: Muirhead 1982, Aspects of Multivariate Statistical Theory, chapter 3; samples by Bartlett's
decomposition (Sawyer 2007, Wishart Distributions and Inverse-Wishart Sampling)."""

import math
import warnings

from .. import _torch as torch
from . import constraints
from .exp_family import ExponentialFamily
from .gamma import Chi2
from .multivariate_normal import HasScaleMatrix, chosen, factor

_TRIES = 10  # for a sample that rounding made singular


class Wishart(HasScaleMatrix, ExponentialFamily):
    """The sum of `df` squares of normal vectors with a covariance, its inverse (precision) or its
    lower Cholesky factor (`scale_tril`), of which one is given."""

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self, df, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None
    ):
        self._name, matrix = chosen(covariance_matrix, precision_matrix, scale_tril)
        n = matrix.shape[-1]
        if not isinstance(df, torch.Tensor):
            df = torch.tensor(df, dtype=matrix.dtype, device=matrix.device)
        batch = torch.broadcast_shapes(tuple(matrix.shape[:-2]), tuple(df.shape))
        self.df = df.expand(batch)
        if (df <= n - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {n - 1}.")
        if (df < n).any():
            warnings.warn(
                "Low df values detected. Singular samples are highly likely to occur for "
                "ndim - 1 < df < ndim.",
                stacklevel=2,
            )
        setattr(self, self._name, matrix.expand((*batch, n, n)))
        self._own = "df", self._name
        super().__init__(batch, (n, n), validate_args)
        self._unbroadcasted_scale_tril = factor(self._name, matrix)

    @property
    def arg_constraints(self):
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self._event_shape[-1] - 1),
        }

    _scalar = property(lambda self: self.df.reshape((*self._batch_shape, 1, 1)))
    mean = property(lambda self: self._scalar * self.covariance_matrix)

    @property
    def mode(self):
        above = self._scalar - self._event_shape[-1] - 1
        return torch.where(above > 0, above, math.nan) * self.covariance_matrix

    @property
    def variance(self):
        v = self.covariance_matrix
        diagonal = v.diagonal(dim1=-2, dim2=-1)
        return self._scalar * (v**2 + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def _product(self, sample_shape):
        n, tril = self._event_shape[-1], self._unbroadcasted_scale_tril
        steps = torch.arange(n, dtype=tril.dtype, device=tril.device)
        chi2 = Chi2(self.df.unsqueeze(-1) - steps, validate_args=False)
        roots = chi2.rsample(sample_shape).sqrt().clamp(min=torch.finfo(tril.dtype).eps)
        normal = self._noise(torch.randn, sample_shape, roots).tril(-1)
        half = tril @ (roots.diag_embed() + normal)
        return half @ half.mT

    def rsample(self, sample_shape=(), max_try_correction=_TRIES):
        found = self._product(sample_shape)
        singular = ~self.support.check(found.detach())
        for _ in range(max_try_correction):
            if not singular.any():
                break
            again = self._product(sample_shape)
            found = torch.where(singular[..., None, None], again, found)
            singular = ~self.support.check(found.detach())
        if singular.any():
            warnings.warn("Singular sample detected.", stacklevel=2)
        return found

    def _log_prob(self, value):
        nu, n = self.df, self._event_shape[-1]
        size = nu * (n * math.log(2) / 2 + self._half_log_det())
        size = size + torch.special.multigammaln(nu / 2, n)
        tril = self._unbroadcasted_scale_tril
        shape = torch.broadcast_shapes(tuple(tril.shape), tuple(value.shape))
        solved = torch.cholesky_solve(value.expand(shape), tril.expand(shape))
        trace = solved.diagonal(dim1=-2, dim2=-1).sum(-1)
        slope = (nu - n - 1) / 2 * torch.linalg.slogdet(value).logabsdet
        return slope - size - trace / 2

    def entropy(self):
        nu, n = self.df, self._event_shape[-1]
        halves = torch.arange(n, dtype=nu.dtype, device=nu.device) / 2
        slopes = torch.digamma((nu / 2).unsqueeze(-1) - halves).sum(-1)
        size = (n + 1) * (n * math.log(2) / 2 + self._half_log_det())
        return size + torch.special.multigammaln(nu / 2, n) - (nu - n - 1) / 2 * slopes + nu * n / 2

    @property
    def _natural_params(self):
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x, y):
        n = self._event_shape[-1]
        half = y + (n + 1) / 2
        log_det = torch.linalg.slogdet(-2 * x).logabsdet
        return half * (n * math.log(2) - log_det) + torch.special.multigammaln(half, n)

    def _shown_parameters(self):
        return [self._name, "df"]
