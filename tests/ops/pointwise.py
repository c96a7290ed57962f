"""Elementwise functions of one operand."""

import numpy as np
from scipy import special

from tests.harness.table import (
    ALL,
    FLOATS,
    NUMBERS,
    always,
    default_float,
    op,
    positive,
    unit,
    x,
)

ANY = [x(3, 4), x(7)]
NO_BOOL = {"bool": "bool"}

op("abs", ref=np.abs, samples=ANY, dtypes=NUMBERS, ulp=0, bad=NO_BOOL)
op(
    "neg",
    ref=np.negative,
    samples=ANY,
    dtypes=FLOATS + ("int64", "int32", "int16", "int8"),
    ulp=0,
    bad=NO_BOOL,
)
op("positive", ref=np.positive, samples=ANY, dtypes=NUMBERS, ulp=0, bad=NO_BOOL, view=True)
op(
    "sign",
    ref=lambda x: x if x.dtype == bool else np.nan_to_num(np.sign(x)),
    samples=ANY,
    dtypes=ALL,
    ulp=0,
    second=False,
)
op(
    "square",
    ref=lambda x: x.astype(np.int64) ** 2 if x.dtype == bool else x * x,
    samples=ANY,
    dtypes=NUMBERS + ("bool",),
    ulp=1,
    result=lambda d: "int64" if d == "bool" else d,
)
op(
    "reciprocal",
    ref=lambda x: 1 / np.asarray(x, float),
    samples=[positive(3, 4, high=9)],
    dtypes=ALL[:5] + ("int32",),
    result=default_float,
)

for name, ref, sample in [
    ("exp", np.exp, x(3, 4)),
    ("exp2", np.exp2, x(3, 4)),
    ("expm1", np.expm1, x(3, 4)),
    ("log", np.log, positive(3, 4)),
    ("log2", np.log2, positive(3, 4)),
    ("log10", np.log10, positive(3, 4)),
    ("log1p", np.log1p, positive(3, 4, low=-0.9)),
    ("sqrt", np.sqrt, positive(3, 4)),
    ("rsqrt", lambda x: 1 / np.sqrt(x), positive(3, 4)),
    ("sin", np.sin, x(3, 4)),
    ("cos", np.cos, x(3, 4)),
    ("tan", np.tan, unit(3, 4)),
    ("asin", np.arcsin, unit(3, 4)),
    ("acos", np.arccos, unit(3, 4)),
    ("atan", np.arctan, x(3, 4)),
    ("sinh", np.sinh, x(3, 4)),
    ("cosh", np.cosh, x(3, 4)),
    ("tanh", np.tanh, x(3, 4)),
    ("asinh", np.arcsinh, x(3, 4)),
    ("acosh", np.arccosh, positive(3, 4, low=1.1)),
    ("atanh", np.arctanh, unit(3, 4)),
    ("sigmoid", special.expit, x(3, 4)),
    ("erf", special.erf, x(3, 4)),
    ("erfc", special.erfc, x(3, 4)),
]:
    op(
        name,
        ref=lambda x, ref=ref: ref(np.asarray(x, dtype=np.float64)),
        samples=[sample],
        dtypes=FLOATS + ("int64", "uint8", "bool"),
        result=default_float,
        ulp=8 if name == "erfc" else 2,
    )

for name, ref in [("floor", np.floor), ("ceil", np.ceil), ("trunc", np.trunc)]:
    op(
        name,
        ref=lambda x, ref=ref: ref(x) if x.dtype.kind == "f" else x,
        samples=ANY,
        dtypes=NUMBERS,
        ulp=0,
        second=False,
        bad=NO_BOOL,
    )
op(
    "round",
    ref=lambda x, decimals=0: np.round(x, decimals) if x.dtype.kind == "f" else x,
    samples=ANY,
    dtypes=NUMBERS,
    ulp=1,
    second=False,
    bad=NO_BOOL,
)
op(
    "frac",
    ref=lambda x: x - np.trunc(x),
    samples=ANY,
    ulp=0,
    bad={"int64": "not implemented for 'int64'"},
)

SPECIAL = [x(3, 4), x(6, values=(0.0, -0.0, np.inf, -np.inf, np.nan, 1.0))]
for name, ref in [("isnan", np.isnan), ("isinf", np.isinf), ("isfinite", np.isfinite)]:
    op(name, ref=ref, samples=SPECIAL, result=always("bool"), grad=False)
op("logical_not", ref=np.logical_not, samples=ANY, dtypes=ALL, result=always("bool"), grad=False)
op(
    "bitwise_not",
    ref=np.invert,
    samples=ANY,
    dtypes=("int64", "int32", "int16", "int8", "bool"),
    grad=False,
    bad={"float32": "not implemented for 'float32'"},
)
