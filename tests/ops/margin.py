"""Losses of margins, similarities and distributions."""

import numpy as np
from loss import FOLDS, folded
from scipy import special

from tests.harness.table import op, positive, x

KW = dict(elementwise=False, ulp=4, atol={"float16": 2e-2, "bfloat16": 0.15})
SIDES = (1.0, -1.0, -1.0, 1.0, 1.0)


def side(*shape):
    return x(*shape, values=SIDES, grad=False)


def loss(f):
    """Losses of the operands, folded as `reduction` says."""
    return lambda *ts, reduction="mean", **o: folded(f(*ts, **o), reduction)


op(
    "margin_ranking_loss",
    ref=loss(lambda a, b, t, margin=0.0: np.maximum(0, -t * (a - b) + margin)),
    samples=[(x(5), x(5), side(5)), (x(3, 4), x(3, 1), side(1, 4)), (x(0), x(0), side(0))],
    options=[dict(o, margin=0.3) for o in FOLDS],
    required=True,
    big=[(x(300, 300), x(300, 300), side(300, 300))],
    refuses=[((x(5), x(1, 5), side(5)), {}, "same dimension")],
    second=False,
    **KW,
)
op(
    "hinge_embedding_loss",
    ref=loss(lambda a, t, margin=1.0: np.where(t == 1, a, np.maximum(0, margin - a))),
    samples=[(x(5), side(5)), (x(3, 5), side(3, 5))],
    options=[*FOLDS, dict(margin=2.0)],
    big=[(x(300, 300), side(300, 300))],
    second=False,
    **KW,
)


def cosine_embedding(a, b, t, margin=0.0):
    cosine = (a * b).sum(-1) / np.sqrt(((a * a).sum(-1) + 1e-12) * ((b * b).sum(-1) + 1e-12))
    return np.where(t == 1, 1 - cosine, np.maximum(0, cosine - margin))


op(
    "cosine_embedding_loss",
    ref=loss(cosine_embedding),
    samples=[(x(5, 4), x(5, 4), side(5)), (x(4), x(4), side())],
    options=[*FOLDS, dict(margin=0.2)],
    big=[(x(3000, 30), x(3000, 30), side(3000))],
    refuses=[
        ((x(5, 4), x(5, 4), side(5, 1)), {}, "0D or 1D target"),
        ((x(5), x(5), side(5)), {}, "2D input tensors"),
    ],
    **KW,
)


def apart(a, b, p, eps):
    return (np.abs(a - b + eps) ** p).sum(-1) ** (1 / p)


def triplet(a, near, far, margin=1.0, p=2.0, eps=1e-6, swap=False):
    distance = apart(a, far, p, eps)
    if swap:
        distance = np.minimum(distance, apart(near, far, p, eps))
    return np.maximum(0, apart(a, near, p, eps) - distance + margin)


op(
    "triplet_margin_loss",
    ref=loss(triplet),
    samples=[(x(5, 4), x(5, 4), x(5, 4)), (x(4), x(4), x(4))],
    options=[*FOLDS, dict(swap=True, margin=0.5), dict(p=1.0)],
    big=[(x(3000, 30), x(3000, 30), x(3000, 30))],
    refuses=[
        ((x(5, 4), x(5, 4), x(4)), {}, "same number of dimensions"),
        ((x(5, 4), x(5, 4), x(5, 4)), dict(margin=0.0), "greater than 0"),
    ],
    **KW,
)
op(
    "soft_margin_loss",
    ref=loss(lambda a, t: np.log1p(np.exp(-t * a))),
    samples=[(x(5), side(5)), (x(3, 5), side(3, 5))],
    options=FOLDS,
    big=[(x(300, 300), side(300, 300))],
    refuses=[((x(5), side(4)), {}, "inconsistent target size")],
    **KW,
)


def rows(f):
    """A loss of rows for one row without a batch, too."""

    def losses(a, t, *rest, **o):
        if a.ndim == 1:
            return f(a[None], np.asarray(t)[None], *rest, **o)[0]
        return f(a, t, *rest, **o)

    return losses


@rows
def multi_margin(a, t, weight=None, p=1, margin=1.0):
    own = np.take_along_axis(a, t[:, None], 1)
    losses = np.maximum(0, margin - own + a) ** p
    np.put_along_axis(losses, t[:, None], 0, 1)
    if weight is not None:
        losses = losses * weight[t][:, None]
    return losses.sum(1) / a.shape[1]


def classes(*shape, values=(0, 2, 1, 3, 2)):
    return x(*shape, dtype="int64", values=values)


def weight_last(f, a, t, *weight, **o):
    return f(a, t, weight=weight[0] if weight else None, **o)


op(
    "multi_margin_loss",
    ref=loss(multi_margin),
    arrange=weight_last,
    samples=[
        (x(5, 4), classes(5)),
        (x(5, 4), classes(5), positive(4, grad=False)),
        (x(4), classes()),
    ],
    options=[*FOLDS, dict(p=2, margin=0.5)],
    big=[(x(900, 90), classes(900))],
    refuses=[
        ((x(5, 4), classes(4)), {}, "inconsistent target size"),
        ((x(5, 4), classes(5), x(3)), {}, "inconsistent weight size"),
        ((x(5, 4), classes(5)), dict(p=3), "p == 1 and p == 2"),
        ((x(2, 5, 4), classes(5)), {}, "vector or matrix"),
    ],
    refuses_values=[((x(3, 4), classes(3, values=(0, 4, 1))), {}, "out of")],
    **KW,
)


@rows
def multilabel_margin(a, t):
    losses = np.zeros(len(a))
    for i, (row, targets) in enumerate(zip(a, t)):
        end = np.flatnonzero(targets < 0)
        own = targets[: end[0] if end.size else None]
        others = np.setdiff1d(np.arange(a.shape[1]), own)
        losses[i] = np.maximum(0, 1 - (row[own][:, None] - row[others])).sum() / a.shape[1]
    return losses


LABELS = (0, 2, -1, 1, 3, -1, 0, 0, 1, 2, 3, 0)
op(
    "multilabel_margin_loss",
    ref=loss(multilabel_margin),
    samples=[(x(3, 4), classes(3, 4, values=LABELS)), (x(4), classes(4, values=LABELS))],
    options=FOLDS,
    big=[(x(900, 24), classes(900, 24, values=LABELS))],
    refuses=[((x(3, 4), classes(3, 3)), {}, "inconsistent target size")],
    second=False,
    **KW,
)


def multilabel_soft(a, t, weight=1.0):
    losses = -(t * special.log_expit(a) + (1 - t) * special.log_expit(-a)) * weight
    return losses.mean(-1)


op(
    "multilabel_soft_margin_loss",
    ref=loss(multilabel_soft),
    arrange=weight_last,
    samples=[
        (x(3, 4), positive(3, 4, low=0.0, high=1.0)),
        (x(3, 4), positive(3, 4, low=0.0, high=1.0), positive(4)),
        (x(2, 3, 4), positive(2, 3, 4, low=0.0, high=1.0)),
    ],
    options=FOLDS,
    big=[(x(300, 300), positive(300, 300, low=0.0, high=1.0))],
    **KW,
)


def poisson_nll(a, t, log_input=True, full=False, eps=1e-8):
    losses = np.exp(a) - t * a if log_input else a - t * np.log(a + eps)
    if full:
        stirling = t * np.log(t) - t + 0.5 * np.log(2 * np.pi * t)
        losses = losses + np.where(t > 1, stirling, 0)
    return losses


op(
    "poisson_nll_loss",
    ref=loss(poisson_nll),
    samples=[(positive(3, 4), positive(3, 4)), (positive(3, 4), positive(4))],
    options=[*FOLDS, dict(log_input=False), dict(full=True), dict(log_input=False, eps=0.1)],
    big=[(positive(300, 300), positive(300, 300))],
    **KW,
)


def gaussian_nll(a, t, var, full=False, eps=1e-6):
    if var.ndim < a.ndim:
        var = var[..., None]
    var = np.maximum(var, eps)
    losses = 0.5 * (np.log(var) + (a - t) ** 2 / var)
    return losses + (0.5 * np.log(2 * np.pi) if full else 0)


op(
    "gaussian_nll_loss",
    ref=loss(gaussian_nll),
    samples=[
        (positive(3, 4), positive(3, 4), positive(3, 4)),
        (x(3, 4), x(3, 4), positive(3, 1)),
        (x(3, 4), x(3, 4), positive(3)),
    ],
    options=[*FOLDS, dict(full=True)],
    big=[(x(300, 300), x(300, 300), positive(300, 300))],
    refuses=[((x(3, 4), x(3, 4), positive(4)), {}, "incorrect size")],
    refuses_values=[((x(3), x(3), x(3, low=-2.0, high=-1.0)), {}, "negative entry")],
    **KW,
)
