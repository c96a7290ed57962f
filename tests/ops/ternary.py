"""Choosing, limiting, interpolating."""

import numpy as np

from tests.harness.table import ALL, FLOATS, NUMBERS, op, positive, unit, x

MASK = x(3, 4, dtype="bool", grad=False)
SIGNED = ("int64", "int32", "int16", "int8")

op(
    "where",
    ref=np.where,
    samples=[(MASK, x(3, 4), x(3, 4)), (x(3, dtype="bool", grad=False), x(2, 3), x(2, 1))],
    dtypes=ALL,
    ulp=0,
)
op(
    "clamp",
    ref=lambda a, low, high: np.minimum(np.maximum(a, low), high),
    samples=[(x(3, 4), x(3, 4, low=-2.1, high=-1.1), x(3, 4, low=1.1, high=2.1))],
    dtypes=NUMBERS,
    ulp=0,
)
op("clamp_min", ref=np.maximum, samples=[(x(3, 4), unit(3, 4))], dtypes=NUMBERS, ulp=0)
op("clamp_max", ref=np.minimum, samples=[(x(3, 4), unit(3, 4))], dtypes=NUMBERS, ulp=0)
op(
    "masked_fill",
    ref=lambda a, mask, value: np.where(mask, value, a),
    samples=[(x(3, 4), MASK, x())],
    big=[(x(300, 300), x(300, 300, dtype="bool", grad=False), x())],
    dtypes=ALL,
    ulp=0,
    elementwise=False,
)
op(
    "lerp",
    ref=lambda a, b, w: a + w * (b - a),
    samples=[(x(3, 4), x(3, 4), unit(3, 4)), (x(2, 3), x(2, 3), unit())],
    atol=1e-6,
    bad={"int64": "not implemented for 'int64'"},
)
op(
    "addcmul",
    ref=lambda a, b, c, value=1: a + value * b * c,
    samples=[(positive(3, 4), positive(3, 4), positive(3, 4))],
    options=[dict(value=2)],
    dtypes=FLOATS + SIGNED,
)
op(
    "addcdiv",
    ref=lambda a, b, c, value=1: a + value * b / c,
    samples=[(positive(3, 4), positive(3, 4), positive(3, 4))],
    options=[dict(value=2)],
    ulp=3,
    bad={"int64": "Integer division"},
)
