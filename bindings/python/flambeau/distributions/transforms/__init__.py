"""Invertible functions with the logarithms of their Jacobians' determinants."""

from ..._on_demand import own as _own
from . import base, elementwise, joined, vectors
from .base import _InverseTransform  # noqa: F401: packages look for it here

__all__ = (
    "AbsTransform AffineTransform CatTransform ComposeTransform CorrCholeskyTransform "
    "CumulativeDistributionTransform ExpTransform IndependentTransform LowerCholeskyTransform "
    "PositiveDefiniteTransform PowerTransform ReshapeTransform SigmoidTransform SoftmaxTransform "
    "SoftplusTransform StackTransform StickBreakingTransform TanhTransform Transform "
    "identity_transform"
).split()
globals().update(_own(base, elementwise, joined, vectors, only=__all__))
