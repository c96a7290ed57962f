"""Losses of margins and similarities as modules."""

from .loss import loss
from .weighted import PairwiseDistance


@loss("margin_ranking_loss")
def MarginRankingLoss(self, margin=0.0, size_average=None, reduce=None, reduction="mean"):
    """`max(0, -target (x1 - x2) + margin)`."""


@loss("hinge_embedding_loss")
def HingeEmbeddingLoss(self, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    """`x` for targets 1, `max(0, margin - x)` for targets -1."""


@loss("cosine_embedding_loss")
def CosineEmbeddingLoss(self, margin=0.0, size_average=None, reduce=None, reduction="mean"):
    """`1 - cos` for targets 1, `max(0, cos - margin)` for targets -1."""


@loss("soft_margin_loss")
def SoftMarginLoss(self, size_average=None, reduce=None, reduction="mean"):
    """`log(1 + exp(-target x))`."""


@loss("multilabel_margin_loss")
def MultiLabelMarginLoss(self, size_average=None, reduce=None, reduction="mean"):
    """Hinge of all targets against all other classes."""


@loss("multilabel_soft_margin_loss")
def MultiLabelSoftMarginLoss(self, weight=None, size_average=None, reduce=None, reduction="mean"):
    """Mean over classes of the binary cross-entropy of logits."""


@loss("multi_margin_loss")
def MultiMarginLoss(
    self, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"
):
    """Hinge of a class against all others."""
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError(
            f"MultiMarginLoss: expected weight to be None or 1D tensor, got {weight.dim()}D"
        )


@loss("triplet_margin_loss")
def TripletMarginLoss(
    self, margin=1.0, p=2.0, eps=1e-6, swap=False, size_average=None, reduce=None, reduction="mean"
):
    """`max(0, |anchor - positive| - |anchor - negative| + margin)`."""
    _check_margin("TripletMarginLoss", margin)


@loss("triplet_margin_with_distance_loss")
def TripletMarginWithDistanceLoss(
    self, *, distance_function=None, margin=1.0, swap=False, reduction="mean"
):
    """The triplet loss of any distance."""
    _check_margin("TripletMarginWithDistanceLoss", margin)
    return {"distance_function": distance_function or PairwiseDistance()}


def _check_margin(name, margin):
    if margin <= 0:
        raise ValueError(f"{name}: expected margin to be greater than 0, got {margin} instead")
