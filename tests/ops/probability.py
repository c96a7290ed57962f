"""Functions of probability theory."""

import numpy as np
from scipy import special

from tests.harness.table import FLOATS, default_float, op, positive, unit, x

ANY = dict(dtypes=FLOATS + ("int64", "bool"), result=default_float)
NAN, INF = float("nan"), float("inf")
EDGES = x(8, values=(NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 2.0), grad=False)
FAR = x(5, low=-30.0, high=3.0)


def wide(f):
    return lambda a, *rest: f(np.asarray(a, float), *rest)


op("ndtr", ref=wide(special.ndtr), samples=[x(3, 4), EDGES], ulp=4, atol=1e-6, **ANY)
op(
    "ndtri",
    ref=wide(special.ndtri),
    samples=[unit(3, 4, low=0.02, high=0.98), positive(3, low=1e-12, high=1e-3, grad=False)],
    pairs=[(EDGES, {})],
    ulp=8,
    atol=1e-6,
)
op("log_ndtr", ref=wide(special.log_ndtr), samples=[x(3, 4), FAR], ulp=8, atol=1e-6, **ANY)
op("erfcx", ref=wide(special.erfcx), samples=[x(3, 4), x(5, low=1.0, high=60.0)], ulp=8, **ANY)
op("entr", ref=wide(special.entr), samples=[positive(3, 4), EDGES], ulp=4, atol=1e-6, **ANY)
op(
    "xlog1py",
    ref=wide(special.xlog1py),
    samples=[(x(3, 4), positive(3, 4)), (EDGES, positive(8, grad=False))],
    ulp=4,
)
op(
    "zeta",
    ref=lambda s, q: special.zeta(s, q),
    samples=[(positive(3, 4, low=1.5, grad=False), positive(3, 4, low=0.5))],
    ulp=16,
    atol=1e-6,
    dtypes=("float32", "float64"),
)
CONCENTRATION = [
    (positive(3, 4, grad=False), positive(3, 4)),
    (positive(5, low=20.0, high=90.0, grad=False), positive(5, low=20.0, high=90.0)),
]
for name, ref in [("igamma", special.gammainc), ("igammac", special.gammaincc)]:
    # SciPy leaves some 200 units where little lies below.
    op(name, ref=wide(ref), samples=CONCENTRATION, ulp=512, dtypes=("float32", "float64"))
op(
    "mvlgamma",
    ref=lambda a, p: np.vectorize(lambda v: special.multigammaln(v, p))(np.asarray(a, float)),
    samples=[positive(3, 4, low=1.5)],
    options=[dict(p=1), dict(p=3)],
    required=True,
    elementwise=False,  # SciPy has no values where a gamma function of it has a pole or below
    ulp=16,
    atol={"float16": 4e-2, "bfloat16": 4e-2},
    refuses=[(x(3), dict(p=0), "greater than or equal to 1")],
    bad={"bool": "boolean tensor"},
)
