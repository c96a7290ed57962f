"""Elementwise arithmetic of two operands."""

import numpy as np

from tests.harness.table import ALL, FLOATS, INTS, NUMBERS, always, default_float, op, positive, x

PAIR = [(x(3, 4), x(3, 4, low=-2.0, high=2.5)), (x(2, 3), x(3))]
POSITIVE = [(x(3, 4), positive(3, 4, low=1.0)), (x(2, 3), positive(3, low=1.0))]
NO_BOOL = {"bool": "bool"}
SIGNED = ("int64", "int32", "int16", "int8")


def logical(f):
    return lambda a, b: f(a, b)


op(
    "add",
    ref=lambda a, b, alpha=1: a | b if a.dtype == bool else a + alpha * b,
    samples=PAIR,
    dtypes=FLOATS + SIGNED,
    options=[dict(alpha=2)],
)
op(
    "sub",
    ref=lambda a, b, alpha=1: a - alpha * b,
    samples=PAIR,
    dtypes=FLOATS + SIGNED,
    options=[dict(alpha=2)],
    bad=NO_BOOL,
)
op(
    "rsub",
    ref=lambda a, b, alpha=1: b - alpha * a,
    samples=PAIR,
    dtypes=FLOATS + SIGNED,
    options=[dict(alpha=2)],
    bad=NO_BOOL,
)
op(
    "mul",
    ref=lambda a, b: a & b if a.dtype == bool else a * b,
    samples=PAIR,
    dtypes=FLOATS + SIGNED + ("bool",),
)


def quotient(a, b, rounding_mode=None):
    exact = np.asarray(a, float) / b
    if rounding_mode is None:
        return exact
    rounded = np.trunc(exact) if rounding_mode == "trunc" else np.floor(exact)
    return rounded if a.dtype.kind == "f" else rounded.astype(np.int64)


op("div", ref=quotient, samples=POSITIVE, dtypes=FLOATS + ("int32",), result=default_float)
op("floor_divide", ref=np.floor_divide, samples=POSITIVE, dtypes=NUMBERS, second=False, bad=NO_BOOL)
op("remainder", ref=np.remainder, samples=POSITIVE, dtypes=NUMBERS, bad=NO_BOOL, atol=1e-12)
op("fmod", ref=np.fmod, samples=POSITIVE, dtypes=NUMBERS, bad=NO_BOOL, atol=1e-12)
op("pow", ref=np.power, samples=[(positive(3, 4), x(3, 4)), (positive(2, 3), x(3))], bad=NO_BOOL)
op("rpow", ref=lambda a, b: np.power(b, a), samples=[(x(3, 4), positive(4))], bad=NO_BOOL)
op("maximum", ref=np.maximum, samples=PAIR, dtypes=ALL, ulp=0)
op("minimum", ref=np.minimum, samples=PAIR, dtypes=ALL, ulp=0)
op("fmax", ref=np.fmax, samples=PAIR, dtypes=ALL, ulp=0)
op("fmin", ref=np.fmin, samples=PAIR, dtypes=ALL, ulp=0)
op(
    "atan2",
    ref=lambda a, b: np.arctan2(np.asarray(a, float), b),
    samples=PAIR,
    dtypes=FLOATS + ("int64",),
    result=default_float,
)

for name, ref in [
    ("logical_and", np.logical_and),
    ("logical_or", np.logical_or),
    ("logical_xor", np.logical_xor),
]:
    op(name, ref=ref, samples=PAIR, dtypes=ALL, result=always("bool"), grad=False)
for name, ref in [
    ("bitwise_and", np.bitwise_and),
    ("bitwise_or", np.bitwise_or),
    ("bitwise_xor", np.bitwise_xor),
]:
    op(
        name,
        ref=ref,
        samples=PAIR,
        dtypes=INTS + ("bool",),
        grad=False,
        bad={"float32": "not implemented for"},
    )
SHIFT = [(positive(3, 4, high=20), positive(3, 4, low=0, high=2.5))]
for name, ref in [("bitwise_left_shift", np.left_shift), ("bitwise_right_shift", np.right_shift)]:
    op(
        name,
        ref=ref,
        samples=SHIFT,
        dtypes=INTS,
        grad=False,
        bad={"float32": "not implemented for", "bool": "not implemented for"},
    )
