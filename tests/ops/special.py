"""Special functions, signs, infinities."""

import numpy as np
from scipy import special

from tests.harness.table import FLOATS, always, default_float, op, positive, unit, x

ANY = dict(dtypes=FLOATS + ("int64", "bool"), result=default_float)
NAN, INF = float("nan"), float("inf")
EDGES = x(8, values=(NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 2.0), grad=False)


def wide(f):
    return lambda a, *rest: f(np.asarray(a, float), *rest)


op("erfinv", ref=wide(special.erfinv), samples=[unit(3, 4), unit(5)], pairs=[(EDGES, {})], **ANY)
op(
    "lgamma",
    ref=wide(special.gammaln),
    samples=[positive(3, 4), x(5)],
    ulp=4,
    atol=1e-6,
    **ANY,
)
op(
    "digamma",
    ref=wide(special.digamma),
    samples=[positive(3, 4, low=0.5), x(5, low=-2.9, high=-2.1)],
    ulp=8,
    atol=1e-6,
    dtypes=FLOATS,
)
op(
    "polygamma",
    ref=lambda a, n: special.polygamma(n, np.asarray(a, float)),
    samples=[positive(3, 4, low=0.5)],
    options=[dict(n=n) for n in (0, 1, 2, 4)],
    required=True,
    arrange=lambda f, a, n, **o: f(n, a, **o),
    ulp=8,
    atol=1e-6,
    dtypes=FLOATS,
    refuses=[(x(3), dict(n=-1), "negative n")],
)
op(
    "logit",
    ref=lambda a, eps=None: special.logit(
        np.asarray(a, float) if eps is None else np.clip(a, eps, 1 - eps)
    ),
    samples=[unit(3, 4, low=0.05)],
    options=[dict(eps=0.25)],
    ulp=8,
    atol=1e-6,
)
op(
    "sinc",
    ref=wide(np.sinc),
    samples=[x(3, 4), x(2, values=(0.0, 1.5), grad=False)],
    atol=2e-6,
    **ANY,
)
op("deg2rad", ref=wide(np.deg2rad), samples=[x(3, 4)], second=False, **ANY)
op("rad2deg", ref=wide(np.rad2deg), samples=[x(3, 4)], second=False, **ANY)
ASKED = dict(result=always("bool"), grad=False, ulp=0)
op(
    "signbit",
    ref=lambda a: np.signbit(a) if a.dtype.kind == "f" else a < 0,
    samples=[x(3, 4)],
    pairs=[(EDGES, {})],
    dtypes=FLOATS + ("int64", "uint8", "bool"),
    **ASKED,
)
for name, ref in [("isposinf", np.isposinf), ("isneginf", np.isneginf)]:
    op(
        name,
        ref=lambda a, ref=ref: ref(np.asarray(a, float)),
        samples=[x(3, 4)],
        pairs=[(EDGES, {})],
        dtypes=FLOATS,
        **ASKED,
    )
op(
    "nan_to_num",
    ref=lambda a, nan=0.0, posinf=9.0, neginf=-9.0: np.nan_to_num(a, True, nan, posinf, neginf),
    samples=[x(3, 4), EDGES],
    options=[dict(posinf=9.0, neginf=-9.0), dict(nan=4.0, posinf=2.0, neginf=-9.0)],
    required=True,
    second=False,
    ulp=0,
)
op(
    "heaviside",
    ref=lambda a, v: np.heaviside(a, v),
    samples=[(x(3, 4), x(3, 4)), (x(3, values=(0.0, 1.0, -1.0)), x(3))],
    dtypes=("float32", "float64"),
    grad=False,
    ulp=0,
)
op(
    "copysign",
    ref=np.copysign,
    samples=[(x(3, 4), x(3, 4)), (EDGES, x(8, grad=False))],
    second=False,
    ulp=0,
)
op("hypot", ref=np.hypot, samples=[(x(3, 4), x(3, 4))])
op("logaddexp", ref=np.logaddexp, samples=[(x(3, 4), x(3, 4)), (EDGES, EDGES)], atol=1e-6)
op("logaddexp2", ref=np.logaddexp2, samples=[(x(3, 4), x(3, 4))], atol=2e-3, ulp=4)
op(
    "xlogy",
    ref=wide(special.xlogy),
    samples=[(x(3, 4), positive(3, 4)), (EDGES, positive(8, grad=False))],
    ulp=4,
)
op(
    "ldexp",
    ref=lambda a, b: a * np.power(2.0, b),
    samples=[(x(3, 4), x(3, 4))],
    dtypes=("float32", "float64"),
    ulp=4,
)
op(
    "float_power",
    ref=lambda a, b: np.float_power(a, b),
    samples=[(positive(3, 4), x(3, 4))],
    dtypes=("float64", "float32", "float16", "bfloat16", "int64"),
    result=always("float64"),
    ulp=2.0**6,
)
