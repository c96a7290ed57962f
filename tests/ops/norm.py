"""Normalisations."""

import flambeau
import numpy as np

from tests.harness.gen import api
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
    samples=[
        (x(4, 3), *STATS, *AFFINE),
        (x(2, 3, 2, 3), *STATS, *AFFINE),
        (x(2, 3, 3, 4), *STATS, *AFFINE),  # planes that are rows of a kernel
    ],
    options=[dict(training=True), dict(training=False), dict(training=True, momentum=0.5, eps=0.1)],
    required=True,
    pairs=[
        ((x(4, 3), *AFFINE), dict(running=False, training=True)),
        ((x(2, 3, 5), *STATS), dict(affine=False, training=True)),
        ((x(2, 3, 5), *STATS), dict(affine=False)),
        ((x(2, 3, 5),), dict(running=False, affine=False, training=True)),
        ((x(2, 3, 9),), dict(running=False, affine=False, training=True)),
        ((x(2, 3, 9), *STATS), dict(affine=False)),
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


def call_tracked(a, n, *ts, running=True, affine=True, **options):
    """What batch_norm_tracked gives, and its running statistics afterwards; n counts."""
    stats, (weight, bias) = given(ts, running, affine)
    counted, *stats = (s if s is None else s.clone() for s in (n, *stats))
    y = api.batch_norm_tracked(a, counted, *stats, weight, bias, **options)
    assert n.is_meta or flambeau.equal(counted, n + 1)
    return (y, *stats) if running and not y.requires_grad else y


def batch_norm_tracked(a, n, *ts, **options):
    return batch_norm(a, *ts, training=True, **options)


COUNT = x(dtype="int64", low=0, high=9, grad=False)
op(
    "batch_norm_tracked",
    ref=batch_norm_tracked,
    call=call_tracked,
    samples=[
        (x(4, 3), COUNT, *STATS, *AFFINE),
        (x(2, 3, 2, 3), COUNT, *STATS, *AFFINE),
    ],
    options=[{}, dict(momentum=0.5, eps=0.1)],
    required=True,
    pairs=[
        ((x(4, 3), COUNT, *AFFINE), dict(running=False)),
        ((x(2, 3, 5), COUNT, *STATS), dict(affine=False)),
        ((x(0, 3), COUNT), dict(running=False, affine=False)),
    ],
    big=[(x(8, 3, 60, 60), COUNT, *STATS, *AFFINE)],
    refuses=[
        ((x(1, 3), COUNT, *STATS, *AFFINE), {}, "more than 1 value per channel"),
        ((x(4, 3), COUNT, x(2), x(2), *AFFINE), {}, "running_mean|elements|size"),
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


def by_channel(v, a):
    return v.reshape((1, -1) + (1,) * (a.ndim - 2))


def group_norm(a, weight=None, bias=None, num_groups=1, eps=1e-5):
    groups = a.reshape(a.shape[0], num_groups, int(np.prod(a.shape[1:])) // num_groups)
    mean, var = groups.mean(-1, keepdims=True), groups.var(-1, keepdims=True)
    y = ((groups - mean) / np.sqrt(var + eps)).reshape(a.shape)
    y = y if weight is None else y * by_channel(weight, a)
    return y if bias is None else y + by_channel(bias, a)


op(
    "group_norm",
    ref=group_norm,
    arrange=lambda f, a, *affine, num_groups, **o: f(a, num_groups, *affine, **o),
    samples=[
        (x(2, 4, 3), x(4), x(4)),
        (x(3, 4, 2, 3),),
        (x(3, 4), x(4), x(4)),
        (x(2, 4, 5), x(4)),
        (x(2, 4, 3, 3), x(4), x(4)),  # planes that are rows of a kernel
        (x(2, 4, 8),),
        (x(2, 4, 11), x(4)),
    ],
    options=[dict(num_groups=2), dict(num_groups=1, eps=0.5)],
    required=True,
    pairs=[((x(0, 4, 3), x(4), x(4)), dict(num_groups=2))],
    big=[(x(20, 8, 40, 30), x(8), x(8))],
    refuses=[
        ((x(2, 4, 3), x(4), x(4)), dict(num_groups=3), "divisible by num_groups"),
        ((x(2, 4, 3), x(3), x(4)), dict(num_groups=2), "weight"),
        ((x(2, 4, 3), x(4), x(3)), dict(num_groups=2), "bias"),
        ((x(2, 4, 3), x(4), x(4)), dict(num_groups=0), "num_groups|number of groups"),
    ],
    **NORM,
)


def instance_call(a, *ts, running=True, affine=True, **options):
    """What instance_norm gives, and its running statistics afterwards."""
    stats, (weight, bias) = given(ts, running, affine)
    stats = [s if s is None else s.clone() for s in stats]
    y = flambeau.nn.functional.instance_norm(a, *stats, weight=weight, bias=bias, **options)
    return (y, *stats) if running and not y.requires_grad else y


def instance_norm(a, *ts, running=True, affine=True, use_input_stats=True, momentum=0.1, eps=1e-5):
    stats, (weight, bias) = given(ts, running, affine)
    inner = tuple(range(2, a.ndim))
    if use_input_stats:
        mean, var = a.mean(inner, keepdims=True), a.var(inner, keepdims=True)
        unbiased = a.var(inner, ddof=1).mean(0)
        news = (a.mean((0, *inner)), unbiased)
        if running:
            stats = [(1 - momentum) * s + momentum * v for s, v in zip(stats, news)]
    else:
        mean, var = [by_channel(s, a) for s in stats]
    y = (a - mean) / np.sqrt(var + eps)
    if affine:
        y = y * by_channel(weight, a) + by_channel(bias, a)
    return [y, *stats] if running else y


PLAIN = dict(running=False, affine=False)
op(
    "instance_norm",
    ref=instance_norm,
    call=instance_call,
    samples=[(x(2, 3, 5), *STATS, *AFFINE), (x(2, 3, 2, 3), *STATS, *AFFINE)],
    options=[dict(), dict(momentum=0.5, eps=0.1), dict(use_input_stats=False)],
    required=True,
    pairs=[
        ((x(2, 3, 4), *AFFINE), dict(running=False)),
        ((x(2, 3, 4),), PLAIN),
        ((x(2, 3, 2, 2), *STATS), dict(affine=False)),
        ((x(2, 3, 2, 2), *STATS), dict(affine=False, use_input_stats=False)),
    ],
    big=[(x(8, 3, 60, 60), *STATS, *AFFINE)],
    refuses=[
        ((x(2, 3, 1),), PLAIN, "more than 1 spatial element"),
        ((x(2, 3, 4),), dict(PLAIN, use_input_stats=False), "running"),
        ((x(2, 3, 4), x(2), x(2), *AFFINE), {}, "running_mean|elements|size"),
        ((x(2, 3, 4), *STATS, x(4), x(4)), {}, "weight|elements|size"),
    ],
    **NORM,
)


def rms_norm(a, weight=None, normalized_shape=(), eps=None):
    axes = tuple(range(a.ndim - len(normalized_shape), a.ndim))
    added = 0.0 if eps is None else eps  # the default is below what a sample's rounding shows
    y = a / np.sqrt((a * a).mean(axes, keepdims=True) + added)
    return y if weight is None else y * weight


op(
    "rms_norm",
    ref=rms_norm,
    arrange=over,
    samples=[(x(3, 5), x(5)), (x(2, 2, 5),)],
    options=[LAST, dict(LAST, eps=0.5)],
    required=True,
    pairs=[
        ((x(2, 3, 4), x(3, 4)), dict(normalized_shape=(3, 4))),
        ((x(0, 5), x(5)), LAST),
    ],
    big=[(x(300, 5), x(5)), (x(60, 2000, 5), x(5))],
    refuses=[
        (x(3, 4), LAST, "normalized_shape"),
        ((x(3, 5), x(4)), LAST, "weight"),
        (x(3, 5), dict(normalized_shape=()), "normalized_shape"),
    ],
    **NORM,
)


def local_response_norm(a, size, alpha=1e-4, beta=0.75, k=1.0):
    """Windows of `size` channels, size // 2 of them before the element's own."""
    widths = [(0, 0)] * a.ndim
    widths[1] = (size // 2, (size - 1) // 2)
    squares = np.pad(a * a, widths)
    total = sum(squares[:, i : i + a.shape[1]] for i in range(size))
    return a / (k + alpha * total / size) ** beta


op(
    "local_response_norm",
    ref=local_response_norm,
    samples=[x(2, 5, 3), x(2, 4, 2, 3), x(1, 3, 2, 1, 2)],
    options=[dict(size=3), dict(size=2, alpha=0.5, beta=0.5, k=2.0), dict(size=5, alpha=1.0)],
    required=True,
    pairs=[(x(0, 3, 4), dict(size=3))],
    big=[x(4, 20, 40, 30)],
    refuses=[(x(4, 3), dict(size=3), "3D or higher"), (x(2, 4, 3), dict(size=0), "size")],
    **{**NORM, "bad": {}},
)


def normalize(a, p=2.0, dim=1, eps=1e-12):
    size = (np.abs(a) ** p).sum(axis=dim, keepdims=True) ** (1 / p)
    return a / np.maximum(size, eps)


op(
    "normalize",
    ref=normalize,
    samples=[x(3, 4), x(2, 3, 4), x(3, 0)],
    options=[dict(dim=0), dict(p=1.0, dim=-1), dict(p=3.0), dict(eps=9.0), dict(dim=(0, 1))],
    big=[x(300, 300)],
    refuses=[(x(3), {}, "[Dd]imension out of range")],
    **{**NORM, "bad": {"int64": "floating"}},
)
