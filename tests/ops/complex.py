"""Complex numbers, seen through their parts: the table's operands and results are real. What takes
complex operands, and that all else refuses them, is tests/python/test_complex.py's."""

import flambeau
import numpy as np

from tests.harness.table import op, unit, x

PARTS = ("float32", "float64")
PAIRS = [x(3, 4, 2), x(2, 2)]
NOT_HALF = {"float16": "Half", "int64": "Long"}


def pairs(a, b):
    return np.stack(np.broadcast_arrays(a, b), -1)


def of_reals(function, *tensors):
    """A function of real operands whose result is complex, as pairs."""
    return flambeau.view_as_real(function(*tensors))


def of_pairs(function):
    """A function of complex numbers, of pairs."""
    return lambda t: function(numbers(t))


def numbers(t):
    return flambeau.view_as_complex(t if t.stride(-1) == 1 else t.contiguous())


def to_reals(function, t):
    return function(numbers(t))


def to_pairs(function, t):
    return flambeau.view_as_real(function(numbers(t)))


op(
    "complex",
    ref=pairs,
    samples=[(x(3, 4), x(3, 4)), (x(3, 1), x(4))],
    arrange=of_reals,
    dtypes=PARTS,
    ulp=0,
    elementwise=False,
    bad=NOT_HALF,
    big=[(x(300, 200), x(200))],
)
op(
    "polar",
    ref=lambda r, a: pairs(r * np.cos(a), r * np.sin(a)),
    samples=[(x(3, 4), x(3, 4)), (x(3, 1), x(4))],
    arrange=of_reals,
    dtypes=PARTS,
    ulp=4,
    elementwise=False,
    bad=NOT_HALF,
    big=[(x(300, 200), x(200))],
)
op(
    "view_as_complex",
    ref=lambda t: np.stack([t[..., 0], -t[..., 1]], -1),
    samples=PAIRS,
    call=of_pairs(lambda z: flambeau.view_as_real(z.conj())),
    dtypes=PARTS,
    ulp=0,
    elementwise=False,
    big=[x(300, 200, 2)],
)
op(
    "view_as_real",
    ref=lambda t: 3 * t,
    samples=PAIRS,
    call=of_pairs(lambda z: flambeau.view_as_real(z * 3)),
    dtypes=PARTS,
    elementwise=False,
    big=[x(300, 200, 2)],
)
op(
    "real",
    ref=lambda t: t[..., 0].copy(),
    samples=PAIRS,
    call=of_pairs(lambda z: flambeau.real(z).clone()),
    dtypes=PARTS,
    ulp=0,
    elementwise=False,
    big=[x(300, 200, 2)],
)
op(
    "imag",
    ref=lambda t: t[..., 1].copy(),
    samples=PAIRS,
    call=of_pairs(lambda z: flambeau.imag(z).clone()),
    dtypes=PARTS,
    ulp=0,
    elementwise=False,
    big=[x(300, 200, 2)],
)
op(
    "conj_physical",
    ref=lambda t: np.stack([t[..., 0], -t[..., 1]], -1),
    samples=PAIRS,
    arrange=to_pairs,
    dtypes=PARTS,
    ulp=0,
    elementwise=False,
    big=[x(300, 200, 2)],
)
op(
    "angle",
    ref=lambda t: np.arctan2(t[..., 1], t[..., 0]),
    samples=PAIRS,
    arrange=to_reals,
    dtypes=PARTS,
    elementwise=False,
    big=[x(300, 200, 2)],
)
op(
    "sgn",
    ref=lambda t: t / np.hypot(t[..., :1], t[..., 1:]),
    samples=[x(3, 4, 2), unit(2, 2)],
    arrange=to_pairs,
    dtypes=PARTS,
    ulp=4,
    elementwise=False,
    big=[x(300, 200, 2)],
)
