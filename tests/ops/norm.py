"""Normalisations."""

import flambeau
import numpy as np

from tests.harness.table import op, positive, x

# Scale and shift are rounded to a half operand's dtype before they are applied.
ATOL = {"float16": 1e-2, "bfloat16": 6e-2}
NORM = dict(
    elementwise=False, ulp=8, atol=ATOL, bad={"int64": "not implemented|floating|[Ee]xpected"}
)


def given(ts, running, affine):
    """running_mean, running_var, weight and bias out of the operands that a call has."""
    ts = list(ts)
    stats = [ts.pop(0), ts.pop(0)] if running else [None, None]
    return stats, (ts if affine else [None, None])


def call(a, *ts, running=True, affine=True, **options):
    """What batch_norm gives, and its running statistics afterwards."""
    stats, (weight, bias) = given(ts, running, affine)
    stats = [s if s is None else s.clone() for s in stats]
    y = flambeau.nn.functional.batch_norm(a, *stats, weight=weight, bias=bias, **options)
    return (y, *stats) if running and not y.requires_grad else y


def batch_norm(a, *ts, running=True, affine=True, training=False, momentum=0.1, eps=1e-5):
    stats, (weight, bias) = given(ts, running, affine)
    others = tuple(i for i in range(a.ndim) if i != 1)
    shape = [-1 if i == 1 else 1 for i in range(a.ndim)]
    mean, var = stats
    if training:
        mean, var = a.mean(others), a.var(others)
        n = a.size // a.shape[1]
        news = (mean, var * n / (n - 1))
        stats = [s if s is None else (1 - momentum) * s + momentum * v for s, v in zip(stats, news)]
    y = (a - mean.reshape(shape)) / np.sqrt(var.reshape(shape) + eps)
    if affine:
        y = y * weight.reshape(shape) + bias.reshape(shape)
    return [y, *stats] if running else y


STATS = (x(3, grad=False), positive(3, grad=False))
AFFINE = (x(3), x(3))
op(
    "batch_norm",
    ref=batch_norm,
    call=call,
    samples=[(x(4, 3), *STATS, *AFFINE), (x(2, 3, 2, 3), *STATS, *AFFINE)],
    options=[dict(training=True), dict(training=False), dict(training=True, momentum=0.5, eps=0.1)],
    required=True,
    pairs=[
        ((x(4, 3), *AFFINE), dict(running=False, training=True)),
        ((x(2, 3, 5), *STATS), dict(affine=False, training=True)),
        ((x(2, 3, 5), *STATS), dict(affine=False)),
        ((x(2, 3, 5),), dict(running=False, affine=False, training=True)),
        ((x(0, 3), *STATS), dict(affine=False)),
    ],
    big=[(x(8, 3, 60, 60), *STATS, *AFFINE)],
    refuses=[
        ((x(1, 3), *STATS, *AFFINE), dict(training=True), "more than 1 value per channel"),
        ((x(4, 3), x(2), x(2), *AFFINE), {}, "running_mean|elements|size"),
        ((x(4, 3), *STATS, x(4), x(4)), {}, "weight|elements|size"),
        ((x(4, 3), *AFFINE), dict(running=False), "running"),
    ],
    **NORM,
)


def layer_norm(a, weight=None, bias=None, normalized_shape=(), eps=1e-5):
    axes = tuple(range(a.ndim - len(normalized_shape), a.ndim))
    y = (a - a.mean(axes, keepdims=True)) / np.sqrt(a.var(axes, keepdims=True) + eps)
    return y * (1 if weight is None else weight) + (0 if bias is None else bias)


def over(f, a, *affine, normalized_shape, **options):
    return f(a, normalized_shape, *affine, **options)


LAST = dict(normalized_shape=(5,))
op(
    "layer_norm",
    ref=layer_norm,
    arrange=over,
    samples=[(x(3, 5), x(5), x(5)), (x(2, 2, 5),), (x(3, 5), x(5))],
    options=[LAST, dict(LAST, eps=0.5)],
    required=True,
    pairs=[
        ((x(2, 3, 4), x(3, 4), x(3, 4)), dict(normalized_shape=(3, 4))),
        ((x(0, 5), x(5), x(5)), LAST),
    ],
    big=[(x(300, 5), x(5), x(5)), (x(60, 2000, 5), x(5), x(5))],
    refuses=[
        (x(3, 4), LAST, "normalized_shape"),
        ((x(3, 5), x(4), x(4)), LAST, "weight"),
    ],
    **NORM,
)
