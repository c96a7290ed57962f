"""Transforms of vectors and matrices: to the simplex, to Cholesky factors, to positive definite
and correlation matrices, and to another shape.

Sources: stick breaking as in the Stan reference manual, 10.7; correlations: Lewandowski, Kurowicka
and Joe 2009, Generating random correlation matrices based on vines and extended onion method."""

import math

from flambeau.nn import functional as F

from ... import _torch as torch
from .. import constraints
from .base import OneOfAKind, Transform, at_least
from .elementwise import inside


class SoftmaxTransform(OneOfAKind):
    """y = softmax(x); a direction of x is lost, so it is not bijective."""

    domain, codomain = constraints.real_vector, constraints.simplex

    def _call(self, x):
        return torch.softmax(x, -1)

    def _inverse(self, y):
        return y.log()

    def forward_shape(self, shape):
        at_least(1, shape)
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(OneOfAKind):
    """n numbers to n + 1 shares of a stick: each is the logit of the share that is broken off what
    is left, moved so that zeros give equal shares."""

    domain, codomain = constraints.real_vector, constraints.simplex
    bijective = True

    @staticmethod
    def _offset(like, n):
        return torch.arange(n, 0, -1, dtype=like.dtype, device=like.device).log()

    def _call(self, x):
        z = inside(torch.sigmoid(x - self._offset(x, x.shape[-1])))
        left = (1 - z).cumprod(-1)
        return F.pad(z, [0, 1], value=1) * F.pad(left, [1, 0], value=1)

    def _inverse(self, y):
        head = y[..., :-1]
        left = (1 - head.cumsum(-1)).clamp(min=torch.finfo(y.dtype).tiny)
        return head.log() - left.log() + self._offset(y, head.shape[-1])

    def log_abs_det_jacobian(self, x, y):
        x = x - self._offset(x, x.shape[-1])
        return (-x + F.logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape):
        at_least(1, shape)
        return shape[:-1] + (shape[-1] + 1,)

    def inverse_shape(self, shape):
        at_least(1, shape)
        return shape[:-1] + (shape[-1] - 1,)


class LowerCholeskyTransform(OneOfAKind):
    """Square matrices to lower triangles with a positive diagonal."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x):
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y):
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(OneOfAKind):
    """Square matrices to positive definite ones."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x):
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y):
        return LowerCholeskyTransform().inv(torch.linalg.cholesky(y))


def _below(n, diagonal, like):
    """Where a matrix of n rows lies below one of its diagonals."""
    return torch.ones(n, n, dtype=torch.bool, device=like.device).tril(diagonal - 1)


def _order(count):
    """The number of rows of the matrix that has `count` elements below its diagonal."""
    n = round((0.25 + 2 * count) ** 0.5 + 0.5)
    return n if n * (n - 1) // 2 == count else None


class CorrCholeskyTransform(Transform):
    """n (n - 1) / 2 numbers to the Cholesky factor of a correlation matrix: their tanh are partial
    correlations, row by row."""

    domain, codomain = constraints.real_vector, constraints.corr_cholesky
    bijective = True

    def _call(self, x):
        n = _order(x.shape[-1])
        if n is None:
            raise ValueError(
                f"The size of last dimension is {x.shape[-1]} which cannot be expressed as the "
                "lower triangular part of a square D x D matrix."
            )
        eps = torch.finfo(x.dtype).eps
        r = x.new_zeros(x.shape[:-1] + (n, n))
        r[..., _below(n, 0, x)] = torch.tanh(x).clamp(min=-1 + eps, max=1 - eps)
        left = (1 - r**2).sqrt().cumprod(-1)
        r = r + torch.eye(n, dtype=x.dtype, device=x.device)
        return r * F.pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y):
        left = F.pad((1 - (y * y).cumsum(-1))[..., :-1], [1, 0], value=1)
        mask = _below(y.shape[-1], 0, y)
        return torch.atanh(y[..., mask] / left[..., mask].sqrt())

    def log_abs_det_jacobian(self, x, y):
        left = (1 - (y * y).cumsum(-1))[..., _below(y.shape[-1], -1, y)]
        tanh = -2 * (x + F.softplus(-2 * x) - math.log(2)).sum(-1)
        return 0.5 * left.log().sum(-1) + tanh

    def forward_shape(self, shape):
        at_least(1, shape)
        n = _order(shape[-1])
        if n is None:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return shape[:-1] + (n, n)

    def inverse_shape(self, shape):
        at_least(2, shape)
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        n = shape[-1]
        return shape[:-2] + (n * (n - 1) // 2,)


class ReshapeTransform(Transform):
    """The same numbers in another shape."""

    bijective = True

    def __init__(self, in_shape, out_shape, cache_size=0):
        super().__init__(cache_size)
        self.in_shape, self.out_shape = torch.Size(in_shape), torch.Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError("in_shape, out_shape have different numbers of elements")

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        return constraints.independent(constraints.real, len(self.out_shape))

    def _call(self, x):
        return x.reshape(x.shape[: x.dim() - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y):
        return y.reshape(y.shape[: y.dim() - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x, y):
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape):
        return _swapped(torch.Size(shape), self.in_shape, self.out_shape)

    def inverse_shape(self, shape):
        return _swapped(torch.Size(shape), self.out_shape, self.in_shape)


def _swapped(shape, old, new):
    at_least(len(old), shape)
    cut = len(shape) - len(old)
    if shape[cut:] != old:
        raise ValueError(f"Shape mismatch: expected {shape[cut:]} but got {old}")
    return shape[:cut] + new
