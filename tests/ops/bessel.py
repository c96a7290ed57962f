"""Bessel functions, and Airy's."""

import numpy as np
from scipy import special

from tests.harness.table import FLOATS, default_float, op, positive, x

ANY = dict(dtypes=FLOATS + ("int64", "bool"), result=default_float)


def wide(f):
    return lambda a, *rest: f(np.asarray(a, float), *rest)


FIRST = [x(3, 4), x(5, low=-30.0, high=30.0), x(2, values=(0.0, -0.0), grad=False)]
for name in ("i0", "i1"):
    op(name, ref=wide(getattr(special, name)), samples=[x(3, 4)], atol=1e-6, **ANY)
for name in ("i0e", "i1e"):
    op(name, ref=wide(getattr(special, name)), samples=FIRST, atol=1e-6, **ANY)
SECOND = [positive(3, 4), positive(5, low=1.0, high=60.0)]
WIDE = ("float32", "float64")
WITHOUT = dict(grad=False, dtypes=WIDE)
# The references lose their digits far out, and everything does next to a zero.
NEAR = dict(ulp=4, atol=1e-14, elementwise=False, dtypes=WIDE)
for name, ref in [("modified_bessel_k0", special.k0), ("modified_bessel_k1", special.k1)]:
    op(name, ref=wide(ref), samples=SECOND, ulp=32, dtypes=WIDE)
for name, ref in [
    ("scaled_modified_bessel_k0", special.k0e),
    ("scaled_modified_bessel_k1", special.k1e),
]:
    op(name, ref=wide(ref), samples=SECOND, ulp=32, **WITHOUT)
for name, ref in [("bessel_j0", special.j0), ("bessel_j1", special.j1)]:
    op(name, ref=wide(ref), samples=FIRST, **NEAR)
for name, ref in [("bessel_y0", special.y0), ("bessel_y1", special.y1)]:
    op(name, ref=wide(ref), samples=SECOND, **NEAR)
op(
    "spherical_bessel_j0",
    ref=wide(lambda a: special.spherical_jn(0, a)),
    samples=FIRST,
    ulp=4,
    atol=1e-15,
    **WITHOUT,
)
op(
    "airy_ai",
    ref=wide(lambda a: special.airy(a)[0]),
    samples=[*FIRST, x(5, low=-2.5, high=12.0)],
    ulp=64,
    atol=1e-14,
    elementwise=False,  # SciPy's has no values far out
    **WITHOUT,
)
