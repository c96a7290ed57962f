"""Complex numbers, seen through their parts: the table's operands and results are real. What takes
complex operands, and that all else refuses them, is for test_complex_operands.py."""

import flambeau
import numpy as np

from tests.harness.gen import api
from tests.harness.table import ALL, NUMBERS, op, x

PARTS = ("float32", "float64")
PAIRS = [x(3, 4, 2), x(2, 2)]
NOT_HALF = {"float16": "Half", "int64": "Long"}


def pairs(a, b):
    return np.stack(np.broadcast_arrays(a, b), -1)


def of_reals(function):
    """A function of real operands whose result is complex, as pairs."""
    return lambda *tensors: flambeau.view_as_real(function(*tensors))


def of_pairs(function):
    """A function of complex numbers, of pairs."""
    return lambda t: function(numbers(t))


def numbers(t):
    return flambeau.view_as_complex(t if t.stride(-1) == 1 else t.contiguous())


op(
    "complex",
    ref=pairs,
    samples=[(x(3, 4), x(3, 4)), (x(3, 1), x(4))],
    call=of_reals(flambeau.complex),
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
    call=of_reals(flambeau.polar),
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
    "scalar_c128",
    ref=lambda a, real, imag: pairs(real * a, imag * a),
    samples=[x(3, 4), x(), x(0, 3)],
    options=[dict(real=2.0, imag=-0.5)],
    required=True,
    call=lambda a, **parts: flambeau.view_as_real(a * api.scalar_c128(**parts)),
    dtypes=PARTS,
    ulp=0,
    elementwise=False,
    big=[x(300, 200)],
)
# Of reals: those of complex numbers are in tests/python/test_complex.py.
op("conj_physical", ref=lambda t: t, samples=[x(3, 4), x(9)], dtypes=ALL, ulp=0, view=True)
op(
    "sgn",
    ref=lambda x: np.nan_to_num(np.sign(x)),
    samples=[x(3, 4), x(9)],
    dtypes=NUMBERS,
    ulp=0,
    second=False,
)
op(
    "angle",
    ref=lambda t: np.where(np.isnan(t), t, np.where(t < 0, np.pi, 0.0)),
    samples=[x(3, 4), x(9)],
    second=False,
)
