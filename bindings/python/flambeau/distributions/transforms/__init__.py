"""Invertible functions with the logarithms of their Jacobians' determinants."""

from .base import (
    ComposeTransform,
    IndependentTransform,
    Transform,
    _InverseTransform,  # noqa: F401: packages look for it here
    identity_transform,
)
from .elementwise import (
    AbsTransform,
    AffineTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    PowerTransform,
    SigmoidTransform,
    SoftplusTransform,
    TanhTransform,
)
from .joined import CatTransform, StackTransform
from .vectors import (
    CorrCholeskyTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    ReshapeTransform,
    SoftmaxTransform,
    StickBreakingTransform,
)

__all__ = (
    "AbsTransform AffineTransform CatTransform ComposeTransform CorrCholeskyTransform "
    "CumulativeDistributionTransform ExpTransform IndependentTransform LowerCholeskyTransform "
    "PositiveDefiniteTransform PowerTransform ReshapeTransform SigmoidTransform SoftmaxTransform "
    "SoftplusTransform StackTransform StickBreakingTransform TanhTransform Transform "
    "identity_transform"
).split()
