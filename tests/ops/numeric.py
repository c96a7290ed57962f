"""Common divisors, neighbouring numbers, mantissas and exponents."""

import numpy as np

from tests.harness.table import FLOATS, INTS, op, x

WHOLE = [(x(3, 4, low=-30.0, high=30.0), x(3, 4, low=-12.0, high=12.0)), (x(2, 3), x(3))]
for name, ref in [("gcd", np.gcd), ("lcm", np.lcm)]:
    op(name, ref=ref, samples=WHOLE, dtypes=INTS, grad=False, bad={"float32": "not implemented"})
NAN, INF = float("nan"), float("inf")
EDGES = x(8, values=(NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 2.0), grad=False)
op(
    "nextafter",
    ref=np.nextafter,
    samples=[(x(3, 4), x(3, 4)), (x(3, 4), x(4)), (EDGES, x(8, grad=False))],
    dtypes=("float64",),
    second=False,
    ulp=0,
)
op(
    "frexp",
    ref=lambda a: np.frexp(a),
    arrange=lambda f, a: (lambda y: (y[0], y[1].long()))(f(a)),
    elementwise=False,
    samples=[x(3, 4, low=0.1, high=40.0), EDGES],
    dtypes=FLOATS,
    second=False,
    ulp=0,
)
