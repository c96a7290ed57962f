"""Activations."""

import numpy as np
from scipy import special

from tests.harness.table import FLOATS, NUMBERS, default_float, op, positive, x

SAMPLES = [x(3, 4), x(9, low=-8.0, high=8.0)]
NOT_INT = {"int64": "not implemented for 'int64'", "bool": "not implemented for 'bool'"}
NO_BOOL = {"bool": "[Bb]ool"}


def softplus(x, beta=1, threshold=20):
    return np.where(
        x * beta > threshold, x, np.log1p(np.exp(np.minimum(x * beta, threshold))) / beta
    )


def gelu(x, approximate="none"):
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    return x * special.ndtr(x)


def elu(x, alpha=1.0):
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


op("relu", ref=lambda x: np.maximum(x, 0), samples=SAMPLES, dtypes=NUMBERS, ulp=0, bad=NO_BOOL)
op(
    "leaky_relu",
    ref=lambda x, negative_slope=0.01: np.where(x > 0, x, negative_slope * x),
    samples=SAMPLES,
    options=[dict(negative_slope=0.25)],
    bad=NOT_INT,
)
op("elu", ref=elu, samples=SAMPLES, options=[dict(alpha=2.0)], bad=NOT_INT)
op(
    "selu",
    ref=lambda x: 1.0507009873554804934 * elu(x, 1.6732632423543772848),
    samples=SAMPLES,
    bad=NOT_INT,
)
op(
    "celu",
    ref=lambda x, alpha=1.0: np.maximum(x, 0) + np.minimum(0, alpha * np.expm1(x / alpha)),
    samples=SAMPLES,
    options=[dict(alpha=2.0)],
    bad=NOT_INT,
)
op(
    "gelu",
    ref=gelu,
    samples=SAMPLES,
    options=[dict(approximate="tanh")],
    ulp=6,
    atol=1e-12,
    bad=NOT_INT,
)
op("silu", ref=lambda x: x * special.expit(x), samples=SAMPLES, bad=NOT_INT)
op("mish", ref=lambda x: x * np.tanh(softplus(x)), samples=SAMPLES, ulp=3, bad=NOT_INT)
op(
    "softplus",
    ref=softplus,
    samples=SAMPLES,
    options=[dict(beta=2.0), dict(threshold=1.0)],
    bad=NOT_INT,
)
op("logsigmoid", ref=special.log_expit, samples=SAMPLES, bad=NOT_INT)
op("relu6", ref=lambda x: np.clip(x, 0, 6), samples=SAMPLES, dtypes=NUMBERS, ulp=0, bad=NO_BOOL)
op(
    "hardtanh",
    ref=lambda x, min_val=-1, max_val=1: np.clip(x, min_val, max_val),
    samples=SAMPLES,
    ulp=0,
    options=[dict(min_val=-2, max_val=3)],
    bad=NO_BOOL,
)
op("hardsigmoid", ref=lambda x: np.clip(x / 6 + 0.5, 0, 1), samples=SAMPLES, atol=1e-7, bad=NOT_INT)
op(
    "hardswish",
    ref=lambda x: x * np.clip(x + 3, 0, 6) / 6,
    samples=SAMPLES,
    ulp=4,
    atol=1e-7,
    bad=NOT_INT,
)
op(
    "threshold",
    ref=lambda x, threshold, value: np.where(x <= threshold, value, x),
    samples=SAMPLES,
    ulp=0,
    options=[dict(threshold=0.1, value=-1.0)],
    required=True,
    bad=NO_BOOL,
)
op(
    "softsign",
    ref=lambda x: x / (1 + np.abs(x)),
    samples=SAMPLES,
    dtypes=FLOATS + ("int64",),
    result=default_float,
    ulp=3,
    bad=NO_BOOL,
)
op(
    "tanhshrink",
    ref=lambda x: x - np.tanh(x),
    samples=SAMPLES,
    dtypes=FLOATS + ("int64",),
    result=default_float,
    atol={"float64": 1e-15, **dict.fromkeys(("float32", "float16", "bfloat16"), 0.0)},
    bad=NO_BOOL,
)

ROWS_2D = [x(3, 5), x(2, 3, 4)]
op(
    "softmax",
    ref=lambda x, dim: special.softmax(x, axis=dim),
    samples=ROWS_2D,
    options=[dict(dim=-1), dict(dim=0)],
    required=True,
    elementwise=False,
    bad=NOT_INT,
)
op(
    "log_softmax",
    ref=lambda x, dim: special.log_softmax(x, axis=dim),
    samples=ROWS_2D,
    options=[dict(dim=-1), dict(dim=0)],
    required=True,
    elementwise=False,
    atol=1e-7,
    bad=NOT_INT,
)
op(
    "hardshrink",
    ref=lambda x, lambd=0.5: np.where(np.abs(x) <= lambd, 0, x),
    samples=SAMPLES,
    options=[dict(lambd=0.2)],
    ulp=0,
    bad=NOT_INT,
)
op(
    "softshrink",
    ref=lambda x, lambd=0.5: np.sign(x) * np.maximum(np.abs(x) - lambd, 0),
    samples=SAMPLES,
    options=[dict(lambd=0.2)],
    ulp=2,
    atol=1e-6,
    bad=NOT_INT,
)
op(
    "rrelu",
    ref=lambda x, lower=1 / 8, upper=1 / 3: np.where(x > 0, x, x * (lower + upper) / 2),
    samples=SAMPLES,
    options=[dict(lower=0.1, upper=0.2)],
    ulp=2,
)
op(
    "prelu",
    ref=lambda x, w: np.where(x > 0, x, x * (w[:, None] if w.size > 1 else w)),
    samples=[(x(2, 3, 4), positive(3)), (x(5), positive(1))],
    big=[(x(20, 3, 1000), positive(3))],
    elementwise=False,
    ulp=2,
)
op(
    "glu",
    ref=lambda x, dim=-1: (lambda a, b: a * special.expit(b))(*np.split(x, 2, dim)),
    samples=[x(4, 4), x(2, 6, 2)],
    options=[dict(dim=-2)],
    required=True,
    elementwise=False,
    ulp=4,
)
