"""Losses of margins and similarities as modules."""

from .. import functional as F
from .loss import _Loss, _WeightedLoss
from .weighted import PairwiseDistance


class _MarginLoss(_Loss):
    _default, _options = 1.0, ("margin",)

    def __init__(self, margin=None, size_average=None, reduce=None, reduction="mean"):
        super().__init__(size_average, reduce, reduction)
        self.margin = self._default if margin is None else margin


class MarginRankingLoss(_MarginLoss):
    """`max(0, -target (x1 - x2) + margin)`."""

    _function = "margin_ranking_loss"

    _default = 0.0


class HingeEmbeddingLoss(_MarginLoss):
    """`x` for targets 1, `max(0, margin - x)` for targets -1."""

    _function = "hinge_embedding_loss"


class CosineEmbeddingLoss(_MarginLoss):
    """`1 - cos` for targets 1, `max(0, cos - margin)` for targets -1."""

    _function = "cosine_embedding_loss"

    _default = 0.0


class SoftMarginLoss(_Loss):
    """`log(1 + exp(-target x))`."""

    _function = "soft_margin_loss"


class MultiLabelMarginLoss(_Loss):
    """Hinge of all targets against all other classes."""

    _function = "multilabel_margin_loss"


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """Mean over classes of the binary cross-entropy of logits."""

    _function = "multilabel_soft_margin_loss"


class MultiMarginLoss(_WeightedLoss):
    """Hinge of a class against all others."""

    _function, _options = "multi_margin_loss", ("p", "margin", "weight")

    def __init__(
        self, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"
    ):
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if weight is not None and weight.dim() != 1:
            raise ValueError(
                f"MultiMarginLoss: expected weight to be None or 1D tensor, got {weight.dim()}D"
            )
        self.p, self.margin = p, margin


class TripletMarginLoss(_Loss):
    """`max(0, |anchor - positive| - |anchor - negative| + margin)`."""

    _function, _options = "triplet_margin_loss", ("margin", "p", "eps", "swap")

    def __init__(self, margin=1.0, p=2.0, eps=1e-6, swap=False, size_average=None, reduce=None,
                 reduction="mean"):  # fmt: skip
        super().__init__(size_average, reduce, reduction)
        if margin <= 0:
            raise ValueError(
                f"TripletMarginLoss: expected margin to be greater than 0, got {margin} instead"
            )
        self.margin, self.p, self.eps, self.swap = margin, p, eps, swap


class TripletMarginWithDistanceLoss(_Loss):
    """The triplet loss of any distance."""

    _function, _options = (
        "triplet_margin_with_distance_loss",
        ("distance_function", "margin", "swap"),
    )

    def __init__(self, *, distance_function=None, margin=1.0, swap=False, reduction="mean"):
        super().__init__(reduction=reduction)
        if margin <= 0:
            raise ValueError(
                "TripletMarginWithDistanceLoss: expected margin to be greater than 0, got "
                f"{margin} instead"
            )
        self.distance_function = distance_function or PairwiseDistance()
        self.margin, self.swap = margin, swap
