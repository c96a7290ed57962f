"""Losses."""

import numpy as np
from flambeau.nn import functional as F
from scipy import special

from tests.harness.table import op, positive, x

FOLDS = [dict(reduction="sum"), dict(reduction="none")]


def folded(losses, reduction="mean"):
    return (
        losses
        if reduction == "none"
        else np.asarray(losses.sum() if reduction == "sum" else losses.mean())
    )


def distance(f):
    return lambda a, t, reduction="mean", **o: folded(f(np.abs(a - t), **o), reduction)


PAIR = [(x(3, 4), x(3, 4, low=-2.03, high=2.0))]
op(
    "mse_loss",
    ref=distance(lambda d: d * d),
    samples=PAIR,
    options=FOLDS,
    elementwise=False,
    atol=1e-7,
    ulp=4,
    bad={"int64": "not implemented for 'int64'"},
)
op(
    "l1_loss",
    ref=distance(lambda d: d),
    samples=PAIR,
    options=FOLDS,
    elementwise=False,
    second=False,
    ulp=4,
)
op(
    "smooth_l1_loss",
    ref=distance(lambda d, beta=1.0: np.where(d < beta, 0.5 * d * d / beta, d - 0.5 * beta)),
    samples=PAIR,
    options=[*FOLDS, dict(beta=0.5)],
    elementwise=False,
    atol=1e-7,
    ulp=4,
)
op(
    "huber_loss",
    ref=distance(lambda d, delta=1.0: np.where(d <= delta, 0.5 * d * d, delta * (d - 0.5 * delta))),
    samples=PAIR,
    options=[*FOLDS, dict(delta=0.5)],
    elementwise=False,
    atol=1e-7,
    ulp=4,
)


def cross_entropy(
    logits, target, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0
):
    axis = 0 if logits.ndim == 1 else 1
    classes = logits.shape[axis]
    logs = np.moveaxis(special.log_softmax(logits, axis=axis), axis, -1)
    w = np.ones(classes) if weight is None else weight
    if target.dtype.kind == "f":
        t = np.moveaxis(target, axis, -1) * (1 - label_smoothing) + label_smoothing / classes
        losses = -(logs * t * w).sum(-1)
        return (
            losses
            if reduction == "none"
            else np.asarray(losses.sum() / (1 if reduction == "sum" else max(losses.size, 1)))
        )
    counts = target != ignore_index
    hit = np.where(counts, target, 0)
    own = np.where(counts, w[hit], 0)
    picked = -np.take_along_axis(logs, hit[..., None], -1)[..., 0] * own
    smooth = np.where(counts, -(logs * w).sum(-1), 0)
    losses = (1 - label_smoothing) * picked + label_smoothing / classes * smooth
    return (
        folded(losses, reduction) if reduction != "mean" else np.asarray(losses.sum() / own.sum())
    )


def nll(logs, target, weight=None, ignore_index=-100, reduction="mean"):
    axis = 0 if logs.ndim == 1 else 1
    w = np.ones(logs.shape[axis]) if weight is None else weight
    counts = target != ignore_index
    hit = np.where(counts, target, 0)
    own = np.where(counts, w[hit], 0)
    losses = -np.take_along_axis(np.moveaxis(logs, axis, -1), hit[..., None], -1)[..., 0] * own
    return (
        folded(losses, reduction) if reduction != "mean" else np.asarray(losses.sum() / own.sum())
    )


CLASSES = x(5, dtype="int64", values=(0, 2, 1, 3, 2))
PIXELS = x(2, 3, dtype="int64", values=(0, 2, 1, 3))
WEIGHTS = positive(4, grad=False)
BIG = [(x(600, 90), x(600, dtype="int64", values=(0, 80, 3, 2)))]
INDEXED = [(x(5, 4), CLASSES), (x(2, 4, 3), PIXELS), (x(5, 4), CLASSES, WEIGHTS)]
op(
    "cross_entropy",
    ref=cross_entropy,
    samples=[
        *INDEXED,
        (x(5, 4), positive(5, 4, low=0.0, high=1.0)),
        (x(4), x(dtype="int64", values=(2,))),
    ],
    options=[*FOLDS, dict(label_smoothing=0.3)],
    big=BIG,
    elementwise=False,
    atol=1e-6,
    ulp=4,
)


def of_linear(a, w, target, bias=None, weight=None, *, ignore_index=None, chunk_rows=0,
              chunk_divisor=0, **options):  # fmt: skip
    logits = np.tensordot(a, w, (-1, -1)) + (0 if bias is None else bias)
    ignored = -100 if ignore_index is None else ignore_index
    return cross_entropy(logits, target, weight, ignored, **options)


CHUNKS = [dict(chunk_rows=2), dict(chunk_divisor=1), dict(chunk_rows=9, label_smoothing=0.3)]
op(
    "linear_cross_entropy",
    ref=of_linear,
    samples=[
        (x(5, 3), x(4, 3), CLASSES),
        (x(5, 3), x(4, 3), CLASSES, x(4), WEIGHTS),
        (x(2, 3), x(4, 3, 3), PIXELS, x(4, 3)),
        (x(5, 3), x(4, 3), positive(5, 4, low=0.0, high=1.0, grad=False), x(4), WEIGHTS),
        (x(3), x(4, 3), x(dtype="int64", values=(2,))),
    ],
    options=[{**fold, **chunk} for fold in ({}, *FOLDS) for chunk in CHUNKS],
    pairs=[
        ((x(5, 3), x(4, 3), CLASSES), dict(ignore_index=2)),
        ((x(5, 3), x(4, 3), CLASSES), dict(ignore_index=2, chunk_rows=1)),
    ],
    big=[(x(600, 8), x(90, 8), x(600, dtype="int64", values=(0, 80, 3, 2)))],
    refuses=[
        ((x(5, 3), x(4, 2), CLASSES), {}, "in_features"),
        ((x(5, 3), x(4), CLASSES), {}, "at least 2"),
        ((x(5, 1, 3), x(4, 3), CLASSES), {}, "dimensionality 1 or 2"),
        ((x(5, 3), x(4, 3), CLASSES, x(3)), {}, "expected linear_bias shape"),
        ((x(4, 3), x(4, 3), CLASSES), dict(chunk_rows=2), "batch_size"),
        ((x(5, 3), x(4, 3), CLASSES), dict(chunk_rows=-1), "must not be negative"),
        ((x(5, 3), x(4, 3), CLASSES), dict(label_smoothing=2.0), "between 0.0 and 1.0"),
        ((x(5, 3), x(4, 3), x(5, 4)), dict(ignore_index=2), "contains probabilities"),
        ((x(3), x(4, 2, 3), PIXELS), {}, "requires batched input"),
    ],
    elementwise=False,
    atol={"float32": 1e-5, "float64": 1e-12, "float16": 2e-2, "bfloat16": 0.2},
    ulp=8,
)
op(
    "nll_loss",
    ref=nll,
    samples=INDEXED,
    options=[*FOLDS, dict(ignore_index=2)],
    big=BIG,
    elementwise=False,
    atol=1e-6,
    ulp=4,
    second=False,
)

PROBABILITY = positive(3, 4, low=0.05, high=0.95)


def bce(p, t, weight=1.0, reduction="mean"):
    return folded(-(t * np.log(p) + (1 - t) * np.log1p(-p)) * weight, reduction)


def bce_logits(a, t, weight=1.0, reduction="mean"):
    return folded(-(t * special.log_expit(a) + (1 - t) * special.log_expit(-a)) * weight, reduction)


op(
    "binary_cross_entropy",
    ref=bce,
    samples=[(PROBABILITY, PROBABILITY), (PROBABILITY, PROBABILITY, positive(4))],
    options=FOLDS,
    elementwise=False,
    atol=1e-6,
    ulp=6,
)
op(
    "binary_cross_entropy_with_logits",
    ref=bce_logits,
    samples=[(x(3, 4), PROBABILITY), (x(3, 4), PROBABILITY, positive(4))],
    options=FOLDS,
    elementwise=False,
    atol=1e-6,
    ulp=6,
)


def kl(logs, t, reduction="mean", log_target=False):
    losses = np.exp(t) * (t - logs) if log_target else special.xlogy(t, t) - t * logs
    return (
        np.asarray(losses.sum() / logs.shape[0])
        if reduction == "batchmean"
        else folded(losses, reduction)
    )


op(
    "kl_div",
    ref=kl,
    samples=[(x(3, 4), positive(3, 4))],
    options=[*FOLDS, dict(log_target=True), dict(reduction="batchmean")],
    elementwise=False,
    atol=1e-4,
    ulp=8,
)


def ctc(logits, targets, inputs, lengths, blank=0, reduction="mean", zero_infinity=False):
    """By the sum over all paths: the forward recursion in float64."""
    probs = special.softmax(logits, -1)
    losses, start = [], 0
    for n, (steps, count) in enumerate(zip(inputs, lengths)):
        labels = targets[n, :count] if targets.ndim == 2 else targets[start : start + count]
        start += count
        states = [blank]
        for label in labels:
            states += [label, blank]
        alpha = np.zeros(len(states) + 2)
        alpha[1] = 1.0  # before the first step
        for t in range(steps):
            here = np.zeros_like(alpha)
            for s, label in enumerate(states):
                jump = s == 1 or (s % 2 == 1 and label != states[s - 2])
                reached = alpha[s + 2] + alpha[s + 1] + (alpha[s] if jump else 0)
                here[s + 2] = reached * probs[t, n, label]
            alpha = here
        if not steps:
            alpha[-1] = float(count == 0)
        with np.errstate(divide="ignore"):
            losses.append(-np.log(alpha[-1] + (alpha[-2] if count else 0)))
    losses = np.array(losses)
    if zero_infinity:
        losses = np.where(np.isinf(losses), 0, losses)
    if reduction == "mean":
        losses = losses / np.maximum(lengths, 1)
    return folded(losses, reduction)


def whole(*values, shape=None):
    return x(*(shape or (len(values),)), dtype="int64", values=values, grad=False)


ROWS_OF_LABELS = whole(1, 2, 2, 3, 3, 0, 2, 0, 0, shape=(3, 3))
op(
    "ctc_loss",
    ref=ctc,
    call=lambda logits, *rest, **options: F.ctc_loss(logits.log_softmax(-1), *rest, **options),
    samples=[
        (x(6, 3, 4), ROWS_OF_LABELS, whole(6, 5, 4), whole(3, 2, 1)),
        (x(6, 3, 4), whole(1, 2, 2, 3, 3, 2), whole(6, 5, 4), whole(3, 2, 1)),
    ],
    options=FOLDS,
    pairs=[
        (
            (x(3, 3, 4), ROWS_OF_LABELS, whole(3, 2, 0), whole(3, 2, 0)),
            dict(reduction="none", zero_infinity=True),
        ),
        ((x(5, 1, 3), whole(1, 0), whole(5), whole(2)), dict(blank=2)),
    ],
    refuses=[
        ((x(6, 3, 4), whole(1, 2), whole(6, 5, 4), whole(3, 2, 1)), {}, "size 6 at dimension 0"),
        ((x(6, 3, 4), ROWS_OF_LABELS, whole(7, 5, 4), whole(3, 2, 1)), {}, "from 0 to 6"),
        ((x(6, 3, 4), ROWS_OF_LABELS, whole(6, 5), whole(3, 2, 1)), {}, "batch_size"),
        (
            (x(6, 3, 4), ROWS_OF_LABELS, whole(6, 5, 4), whole(3, 2, 1)),
            dict(blank=4),
            "label range",
        ),
    ],
    refuses_values=[
        ((x(6, 1, 2), whole(1, 2), whole(6), whole(2)), {}, "out of bounds"),
    ],
    dtypes=("float32", "float64"),
    elementwise=False,
    second=False,
    ulp=16,
    atol=1e-6,
    crosses=True,
    big=[
        (
            x(8, 600, 12),
            whole(1, 2, 2, 3, 3, 5, 7, shape=(600, 3)),
            whole(8, 7, shape=(600,)),
            whole(3, 2, shape=(600,)),
        )
    ],
)
