"""Searching in order, membership, counting."""

import numpy as np

from tests.harness.table import ALL, FLOATS, INTS, NUMBERS, always, op, positive, x

KW = dict(elementwise=False, grad=False, ulp=0)
STEPS = (-2.0, -1.0, -1.0, 0.0, 1.0, 2.0)
POSITIVE_STEPS = (0.0, 1.0, 1.0, 2.0, 3.0, 3.0)


def side(right):
    return "right" if right else "left"


def searchsorted(rows, values, right=False, side=None, out_int32=False):
    side = side or ("right" if right else "left")
    if rows.ndim == 1:
        return np.searchsorted(rows, values, side).astype(np.int64)
    found = [
        np.searchsorted(r, v, side)
        for r, v in zip(rows.reshape(-1, rows.shape[-1]), values.reshape(-1, values.shape[-1]))
    ]
    return np.reshape(found, values.shape).astype(np.int64)


op(
    "searchsorted",
    ref=searchsorted,
    samples=[
        (x(6, values=POSITIVE_STEPS), x(3, 4)),
        (x(2, 6, values=POSITIVE_STEPS), x(2, 3)),
        (x(6, values=POSITIVE_STEPS), x()),
        (x(6, values=POSITIVE_STEPS), x(0, 2)),
    ],
    options=[dict(right=True), dict(side="right"), dict(side="left")],
    dtypes=NUMBERS,
    result=always("int64"),
    bad={"bool": "not implemented for bool"},
    big=[(x(6, values=POSITIVE_STEPS), x(300, 300))],
    refuses=[
        ((x(2, 6), x(3, 2)), {}, "first N-1 dimensions"),
        ((x(6), x(3)), dict(side="left", right=True), "opposites"),
        ((x(), x(3)), {}, "positive dimension"),
    ],
    **KW,
)
op(
    "bucketize",
    ref=lambda v, rows, right=False: np.searchsorted(rows, v, side(right)).astype(np.int64),
    samples=[(x(3, 4), x(6, values=POSITIVE_STEPS)), (x(), x(6, values=POSITIVE_STEPS))],
    options=[dict(right=True)],
    dtypes=NUMBERS,
    result=always("int64"),
    big=[(x(300, 300), x(6, values=POSITIVE_STEPS))],
    refuses=[((x(3), x(2, 2)), {}, "must be 1 dimension")],
    **KW,
)
op(
    "isin",
    ref=lambda a, b, invert=False: np.isin(a, b, invert=invert),
    samples=[
        (x(3, 4, low=0, high=5), x(4, low=0, high=5)),
        (x(9, values=STEPS), x(2, 2, values=(1.0, 7.0, -1.0, 9.0))),
        (x(3, 4), x(0)),
        (x(), x(3)),
    ],
    options=[dict(invert=True)],
    dtypes=ALL,
    result=always("bool"),
    big=[(x(300, 300), x(30))],
    **KW,
)
COUNTED = x(9, values=(1, 0, 4, 4, 1, 4, 2, 0, 1), dtype="int64")
op(
    "bincount",
    ref=lambda a, w=None, minlength=0: np.bincount(a, w, minlength),
    samples=[(COUNTED, positive(9)), (COUNTED,), (x(0, dtype="int64"),)],
    options=[dict(minlength=7)],
    dtypes=FLOATS[:2],
    big=[(x(90_000, dtype="int64", low=0, high=6), x(90_000))],
    refuses=[
        ((x(3, values=(1, -1, 2), dtype="int64"),), {}, "non-negative"),
        ((x(2, 2, dtype="int64"),), {}, "1-d"),
        ((COUNTED, x(4)), {}, "same length as input"),
        ((COUNTED,), dict(minlength=-1), "minlength"),
    ],
    **{**KW, "ulp": 4},
)


def histc(a, bins=100, min=0, max=0):
    return np.histogram(a, bins, None if min == max else (min, max))[0].astype(np.float64)


op(
    "histc",
    ref=histc,
    samples=[x(40), x(5, 6)],
    options=[dict(bins=7), dict(bins=4, min=-1, max=2)],
    dtypes=FLOATS[:2],
    bad={d: "not implemented" for d in INTS},
    refuses=[
        (x(3), dict(bins=0), "bins must be > 0"),
        (x(3), dict(bins=3, min=2, max=1), "max must be larger than min"),
    ],
    **KW,
)


def weighted(a, weight, bins, **options):
    found, edges = np.histogram(a, bins, weights=weight, **options)
    return found.astype(a.dtype), edges.astype(a.dtype)


HISTOGRAM = dict(
    dtypes=FLOATS[:2],
    bad={d: "not implemented" for d in INTS},
    atol={"float32": 1e-6, "float64": 1e-13},
    **{**KW, "ulp": 4},
)
op(
    "histogram",
    ref=lambda a, bins=100, **o: weighted(a, None, bins, **o),
    samples=[x(40), x(5, 6)],
    options=[
        dict(bins=7),
        dict(bins=4, range=(-1.0, 2.0)),
        dict(bins=4, range=(-1.0, 2.0), density=True),
        dict(bins=2, range=(1.0, 1.0)),
    ],
    pairs=[(x(0), dict(bins=4)), (x(3, values=(1, 1, 1)), dict(bins=4))],
    refuses=[
        (x(3), dict(bins=0), "bins must be > 0"),
        (x(3), dict(bins=3, range=(2.0, 1.0)), "max must be larger than min"),
        (x(3), dict(bins=3, range=(2.0,)), "two numbers"),
    ],
    **HISTOGRAM,
)
op(
    "histogram_between",
    ref=lambda a, bins, weight, **o: weighted(a, weight, bins, **o),
    arrange=lambda f, a, bins, weight, **o: f(a, bins, weight=weight, **o),
    samples=[
        (x(40), x(4, values=(-1.0, -0.5, 1.0, 2.0)), positive(40)),
        (x(5, 6), x(2, values=(-1.0, 2.0)), positive(5, 6)),
    ],
    options=[dict(density=True)],
    big=[(x(300, 300), x(4, values=(-1.0, -0.5, 1.0, 2.0)), positive(300, 300))],
    refuses=[
        ((x(3), x(2, 2), x(3)), {}, "one dimension, but got 2"),
        ((x(3), x(0), x(3)), {}, "should have at least 1 element"),
        ((x(3), x(1), x(3)), {}, "at least two edges, but got 1"),
        (
            (x(3), x(2, dtype="int64"), x(3)),
            {},
            "input tensor and bins tensors should have the same dtype",
        ),
        (
            (x(3), x(2), x(3, dtype="int64")),
            {},
            "input tensor and weight tensor should have the same dtype",
        ),
        ((x(3), x(2), x(2)), {}, "one number per sample"),
    ],
    **HISTOGRAM,
)


def boxes(a, bins, weight=None, range=None, density=False):
    points = a.reshape(-1, a.shape[-1])
    bins = bins * a.shape[-1] if bins.__class__ is tuple and len(bins) == 1 else bins
    span = range and list(zip(range[::2], range[1::2]))
    weight = weight if weight is None else weight.reshape(-1)
    found, edges = np.histogramdd(points, bins, span, density, weights=weight)
    return [found.astype(a.dtype), *(e.astype(a.dtype) for e in edges)]


def in_one_list(f, a, *bins, weight=None, **options):
    named = {} if weight is None else {"weight": weight}
    found = f(a, *bins, **named, **options)
    return [found.hist, *found.bin_edges]


op(
    "histogramdd",
    ref=boxes,
    arrange=in_one_list,
    samples=[x(40, 2), x(5, 8, 3)],
    options=[
        dict(bins=(3,)),
        dict(bins=4, density=True),
    ],
    pairs=[
        (x(40, 2), dict(bins=(3, 4), range=(-1.0, 2.0, -3.0, 0.5), density=True)),
        (x(0, 2), dict(bins=(2, 3))),
        (x(4, 1, values=(1, 1, 1, 1)), dict(bins=(2,))),
    ],
    required=True,
    big=[x(40_000, 2)],
    refuses=[
        (x(3), dict(bins=(3,)), "at least 2 dimensions"),
        (x(3, 2), dict(bins=(3, 0)), "bins must be > 0"),
        (x(3, 2), dict(bins=(3, 4, 5)), "innermost dimension"),
        (x(3, 2), dict(bins=(3, 4), range=(2.0, 1.0)), "should have 4 elements, but got 2"),
        (x(3, 2), dict(bins=2, range=(2.0, 1.0, 0.0, 1.0)), "max must be larger than min"),
    ],
    **HISTOGRAM,
)
EDGES = x(4, values=(-1.0, -0.5, 1.0, 2.0)), x(3, values=(-2.0, 0.0, 2.5))
op(
    "histogramdd_between",
    ref=lambda a, w, *bins, **o: boxes(a, bins, w, **o),
    arrange=lambda f, a, w, *bins, **o: in_one_list(f, a, list(bins), weight=w, **o),
    samples=[(x(40, 2), positive(40), *EDGES), (x(4, 3, 2), positive(4, 3), *EDGES)],
    options=[dict(density=True)],
    big=[(x(40_000, 2), positive(40_000), *EDGES)],
    refuses=[
        ((x(3, 2), x(3), x(4)), {}, "expected 2 sequences of bin edges"),
        ((x(3, 2), x(3), x(4), x(2, 2)), {}, "one dimension, but got 2"),
        ((x(3, 2), x(3), x(4), x(1)), {}, "at least two edges, but got 1"),
        ((x(3, 2), x(2), *EDGES), {}, "one number per sample"),
        (
            (x(3, 2), x(3, dtype="int64"), *EDGES),
            {},
            "input tensor and weight tensor should have the same dtype",
        ),
        (
            (x(3, 2), x(3), x(4), x(2, dtype="int64")),
            {},
            "input tensor and bins tensors should have the same",
        ),
    ],
    view=None,  # the edges are the given ones
    **HISTOGRAM,
)
