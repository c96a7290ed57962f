"""Running extremes, differences, integrals."""

import numpy as np

from tests.harness.table import ALL, FLOATS, default_float, op, x

NO_DIM = "[Dd]imension out of range"
DEEP = [x(3, 4), x(2, 3, 5), x(2, 600, grad=False)]


def extreme(better):
    """The greatest or least so far, of equals the last, and where it is."""

    def ref(a, dim):
        lines = np.moveaxis(a, dim, -1)
        values, at = lines.copy(), np.zeros(lines.shape, np.int64)
        for line in np.ndindex(*lines.shape[:-1]):
            best = 0
            for i, v in enumerate(lines[line]):
                best = i if better(v, lines[line][best]) else best
                values[line][i], at[line][i] = lines[line][best], best
        return np.moveaxis(values, -1, dim), np.moveaxis(at, -1, dim)

    return ref


for name, better in [("cummax", lambda v, b: v >= b), ("cummin", lambda v, b: v <= b)]:
    op(
        name,
        ref=extreme(better),
        samples=DEEP,
        options=[dict(dim=0), dict(dim=-1)],
        required=True,
        dtypes=ALL,
        ulp=0,
        elementwise=False,
        refuses=[(x(3), dict(dim=1), NO_DIM)],
    )
op(
    "logcumsumexp",
    ref=lambda a, dim: np.logaddexp.accumulate(np.asarray(a, float), axis=dim),
    samples=DEEP[:2],
    options=[dict(dim=0), dict(dim=-1)],
    required=True,
    ulp=4,
    atol=1e-6,
    elementwise=False,
    bad={"int64": "not implemented"},
    refuses=[(x(3), dict(dim=1), NO_DIM)],
)
op(
    "diff",
    ref=lambda a, n=1, dim=-1: np.diff(a, n, dim),
    samples=[x(3, 4), x(2, 3, 5)],
    options=[dict(dim=0), dict(n=2), dict(n=0), dict(n=3)],
    dtypes=FLOATS[:2] + ("int64", "bool"),
    atol=1e-6,
    elementwise=False,
    refuses=[
        (x(), {}, "at least one-dimensional"),
        (x(3), dict(n=-1), "non-negative"),
        (x(3), dict(dim=1), NO_DIM),
    ],
)


def cumulative(y, x=None, dx=1.0, dim=-1):
    widths = dx if x is None else np.diff(x) if x.ndim == 1 else np.diff(x, axis=dim)
    if x is not None and x.ndim == 1:
        shape = [1] * y.ndim
        shape[dim] = -1
        widths = widths.reshape(shape)
    n = y.shape[dim]
    sides = [np.take(y, range(s, n - 1 + s), axis=dim) for s in (0, 1)]
    return np.cumsum(widths * (sides[0] + sides[1]) / 2, axis=dim)


def total(y, x=None, dx=1.0, dim=-1):
    return np.take(cumulative(y, x, dx, dim), -1, axis=dim)


for name, ref in [("trapezoid", total), ("cumulative_trapezoid", cumulative)]:
    op(
        name,
        ref=ref,
        samples=[(x(4, 4), x(4)), (x(3, 3), x(3, 3)), x(3, 4), x(2, 3, 5)],
        options=[dict(dim=0)],
        pairs=[(x(3, 4), dict(dx=0.5)), (x(2, 3, 5), dict(dx=2, dim=1))],
        dtypes=FLOATS[:2],
        atol=1e-5,
        elementwise=False,
        big=[(x(300, 300), x(300))],
        refuses=[
            ((x(3, 4), x(3)), {}, "one `x` value"),
            (x(), {}, "at least 1 dimension"),
            ((x(3, 4), x(4)), dict(dx=2), "leave one of them out"),
        ],
    )


def slopes(a, spacing=None, dim=None, edge_order=1):
    axes = range(a.ndim) if dim is None else np.atleast_1d(dim)
    apart = spacing if isinstance(spacing, (tuple, list)) else [1 if spacing is None else spacing]
    if len(apart) == 1:
        apart = [*apart] * len(axes)
    return [np.gradient(a, s, axis=d, edge_order=edge_order) for s, d in zip(apart, axes)]


SLOPE = dict(
    dtypes=FLOATS + ("int64", "int32"),
    result=default_float,
    bad={"uint8": "does not support uint8", "bool": "Subtraction"},
    atol={"float32": 4e-6, "float64": 1e-14, "float16": 4e-2, "bfloat16": 0.3},
    elementwise=False,
)
ORDER = "edge_order=1 and edge_order=2"
op(
    "gradient",
    ref=slopes,
    samples=[x(5, 6), x(3), x(3, 3, 4)],
    options=[dict(edge_order=2), dict(spacing=0.5), dict(dim=-1), dict(dim=(0,), edge_order=2)],
    pairs=[
        (x(4, 3), dict(spacing=(2.0, 0.25), edge_order=2)),
        (x(4, 3), dict(spacing=(2.0, 0.25), dim=(1, 0))),
        (x(2, 0), dict(dim=0)),
    ],
    big=[x(300, 300)],
    refuses=[
        (x(3, 4), dict(edge_order=3), ORDER),
        (x(2), dict(edge_order=2), "at least edge_order"),
        (x(3, 4), dict(dim=2), NO_DIM),
        (x(3, 4), dict(dim=(0, -2)), "multiple times"),
        (
            x(3, 4),
            dict(spacing=(1.0, 2.0, 3.0)),
            "self.dim\\(\\) = 2., since dim argument was not given, but got a list of length 3",
        ),
    ],
    **SLOPE,
)
PLACES = x(5, values=(0.0, 0.5, 2.0, 2.5, 4.0), grad=False)
FAR = x(300, values=tuple(i + i % 3 / 4 for i in range(300)), grad=False)
op(
    "gradient_at",
    ref=lambda a, *places, dim=None, edge_order=1: slopes(a, places, dim, edge_order),
    arrange=lambda f, a, *places, **options: f(a, spacing=list(places), **options),
    samples=[(x(5, 5), PLACES, PLACES), (x(5), PLACES)],
    options=[dict(edge_order=2)],
    pairs=[((x(3, 5), PLACES), dict(dim=-1)), ((x(5, 2, 2), PLACES), dict(dim=0, edge_order=2))],
    big=[(x(300, 300), FAR, FAR)],
    refuses=[
        ((x(5), PLACES), dict(edge_order=0), ORDER),
        (
            (x(5, 5), PLACES),
            {},
            "self.dim\\(\\) = 2., since dim argument was not given, but got a list of length 1",
        ),
        ((x(4), PLACES), {}, "as many places as samples along dimension 0, 4, but got 5"),
        ((x(5), x(5, 1)), {}, "one dimension, but got an element with 2"),
        ((x(5), PLACES), dict(dim=1), NO_DIM),
    ],
    **{**SLOPE, "dtypes": FLOATS[:2]},
)
