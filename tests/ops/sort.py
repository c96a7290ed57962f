"""Sorting, order statistics and sets of values."""

import flambeau
import numpy as np

from tests.harness.table import ALL, NUMBERS, always, op, x

NO_DIM = "[Dd]imension out of range"
EXACT = dict(ulp=0, elementwise=False)
NAN = float("nan")
DEEP = [x(3, 4), x(2, 70), x(2, 3, 5)]
LONG = [x(3000)]  # more than a tile of the device's sort, and several digits
WITH_NAN = x(8, values=(NAN, 1.0, -2.0, NAN, 0.0, -0.0, np.inf, -np.inf), grad=False)


def order(a, dim, descending=False):
    """Stable; NaN is greatest, whichever way the order runs."""
    a = np.asarray(a)
    a = a.astype(np.int64) if a.dtype == bool else a
    if not descending:
        return np.argsort(a, axis=dim, kind="stable")
    back = np.flip(np.argsort(np.flip(a, dim), axis=dim, kind="stable"), dim)
    return a.shape[dim] - 1 - back


def placed(a, at, dim):
    return np.take_along_axis(a, at, dim), at.astype(np.int64)


def sort(a, dim=-1, descending=False, stable=False):
    if a.ndim == 0:
        return a, np.int64(0)
    return placed(a, order(a, dim, descending), dim)


WAYS = [dict(dim=0), dict(dim=-1, descending=True), dict(dim=0, descending=True, stable=True)]
op(
    "sort",
    ref=sort,
    samples=DEEP,
    options=WAYS,
    pairs=[(x(), {}), (x(0, 3), {}), (x(3, 0), dict(dim=1)), (LONG[0], dict(descending=True))],
    big=[x(4, 30000), x(200000)],
    dtypes=ALL,
    refuses=[(x(3, 4), dict(dim=2), NO_DIM)],
    **EXACT,
)
op(
    "argsort",
    ref=lambda a, **o: sort(a, **o)[1],
    samples=[*DEEP, *LONG],
    options=[dict(dim=0), dict(dim=-1, descending=True)],
    pairs=[(WITH_NAN, {}), (WITH_NAN, dict(descending=True))],
    dtypes=ALL,
    result=always("int64"),
    grad=False,
    refuses=[(x(3, 4), dict(dim=2), NO_DIM)],
    **EXACT,
)
op("msort", ref=lambda a: np.sort(a, 0), samples=[x(5, 3), x(40)], dtypes=ALL, **EXACT)


def topk(a, k, dim=-1, largest=True, sorted=True):
    at = order(a, dim, largest)
    return placed(a, np.take(at, range(k), axis=dim), dim)


op(
    "topk",
    ref=topk,
    samples=[x(5, 4), x(4, 90)],
    options=[dict(k=2), dict(k=3, dim=0), dict(k=2, largest=False), dict(k=0)],
    pairs=[(x(2000), dict(k=7)), (x(2000), dict(k=1500, largest=False)), (x(1, 90), dict(k=90))],
    required=True,
    dtypes=NUMBERS,
    bad={"bool": "not implemented for bool"},
    refuses=[
        (x(3, 4), dict(k=5), "selected index k out of range"),
        (x(3, 4), dict(k=-1), "selected index k out of range"),
    ],
    **EXACT,
)


def single(a, at, dim, keepdim):
    values, at = placed(a, np.expand_dims(at, dim), dim)
    return (values, at) if keepdim else (values.squeeze(dim), at.squeeze(dim))


def kthvalue(a, k, dim=-1, keepdim=False):
    return single(a, np.take(order(a, dim), k - 1, axis=dim), dim, keepdim)


op(
    "kthvalue",
    ref=kthvalue,
    samples=[x(5, 4), x(4, 90)],
    options=[dict(k=2), dict(k=3, dim=0), dict(k=4, keepdim=True)],
    pairs=[(x(2000), dict(k=900)), (x(2000), dict(k=3))],
    required=True,
    dtypes=NUMBERS,
    refuses=[
        (x(3, 4), dict(k=5), "selected number k out of range"),
        (x(3, 4), dict(k=0), "selected number k out of range"),
    ],
    **EXACT,
)


def middle(skip):
    def ref(a, dim, keepdim=False):
        a = np.asarray(a)
        numbers = np.sum(~np.isnan(a), axis=dim)
        place = np.maximum(numbers - 1, 0) // 2
        if not skip:
            place = np.where(numbers < a.shape[dim], numbers, place)
        at = np.take_along_axis(order(a, dim), np.expand_dims(place, dim), dim)
        return single(a, at.squeeze(dim), dim, keepdim)

    return ref


HOLES = x(3, 4, values=(1.0, NAN, 3.0, 2.0, NAN, NAN, NAN, NAN, 4.0, 0.5, 2.5, 1.0), grad=False)
for name, skip in [("median", False), ("nanmedian", True)]:
    along = middle(skip)
    op(
        name,
        ref=lambda a, along=along: along(a.ravel(), 0)[0],
        samples=[x(3, 4), x(9), x(2000)],
        pairs=[(HOLES, {}), (x(), {})],
        dtypes=NUMBERS,
        bad={"bool": "not implemented for bool"},
        second=False,
        **EXACT,
    )
    op(
        name + "_dim",
        ref=along,
        samples=[x(3, 4), x(4, 9), x(2, 2000)],
        options=[dict(dim=1), dict(dim=0, keepdim=True)],
        pairs=[(HOLES, dict(dim=1)), (HOLES, dict(dim=0))],
        required=True,
        dtypes=NUMBERS,
        second=False,
        refuses=[(x(0, 3), dict(dim=0), "to have non-zero size"), (x(3), dict(dim=1), NO_DIM)],
        **EXACT,
    )


def mode(a, dim=-1, keepdim=False):
    def line(v):
        kinds, counts = np.unique(v, return_counts=True)
        return np.flatnonzero(v == kinds[np.argmax(counts)])[-1]

    return single(a, np.apply_along_axis(line, dim, a), dim, keepdim)


op(
    "mode",
    ref=mode,
    samples=[x(4, 9, low=-1, high=2), x(5, 4)],
    options=[dict(dim=0), dict(keepdim=True)],
    dtypes=ALL,
    second=False,
    refuses=[(x(0, 3), dict(dim=0), "to have non-zero size")],
    **EXACT,
)


def quantile(f):
    def ref(a, q, dim=None, keepdim=False, interpolation="linear"):
        return f(a, q, axis=dim, keepdims=keepdim, method=interpolation)

    return ref


HOW = [dict(q=0.37, interpolation=w) for w in ("lower", "higher", "midpoint", "nearest")]
QUANTILES = [dict(q=0.3), dict(q=1.0, dim=1), dict(q=0.62, dim=0, keepdim=True), *HOW]
for name, ref, holes in [
    ("quantile", np.quantile, x(5, values=(1.0, NAN, 2.0, 0.0, 3.0), grad=False)),
    ("nanquantile", np.nanquantile, HOLES),
]:
    op(
        name,
        ref=quantile(ref),
        samples=[x(5, 6), x(3, 4)],
        options=QUANTILES,
        pairs=[(holes, dict(q=0.4)), (x(5, 6), dict(q=0.0, keepdim=True))],
        required=True,
        dtypes=("float32", "float64"),
        elementwise=False,
        ulp=8,
        bad={"float16": "either float or double", "int64": "either float or double"},
        second=False,
        refuses=[
            (x(3), dict(q=1.5), r"in the range \[0, 1\]"),
            (x(0), dict(q=0.5), "non-empty"),
        ],
    )


def unique(a, dim=None, return_inverse=False, return_counts=False):
    kinds, inverse, counts = np.unique(a, axis=dim, return_inverse=True, return_counts=True)
    inverse = inverse.reshape(a.shape if dim is None else -1)
    return [kinds] + [inverse] * return_inverse + [counts] * return_counts


def unique_consecutive(a, dim=None, return_inverse=False, return_counts=False):
    rows = a.ravel()[:, None] if dim is None else np.moveaxis(a, dim, 0)
    flat = rows.reshape(len(rows), -1)
    start = np.r_[True, np.any(flat[1:] != flat[:-1], axis=1)]
    first = np.flatnonzero(start)
    inverse = (np.cumsum(start) - 1).reshape(a.shape if dim is None else -1)
    kinds = rows[first].ravel() if dim is None else np.moveaxis(rows[first], 0, dim)
    counts = np.diff(np.r_[first, len(rows)])
    return [kinds] + [inverse] * return_inverse + [counts] * return_counts


FEW = dict(low=0, high=1)
SETS = [
    dict(return_inverse=True),
    dict(return_counts=True),
    dict(dim=0, return_inverse=True, return_counts=True),
    dict(dim=-1),
]
for name, ref in [("unique", unique), ("unique_consecutive", unique_consecutive)]:
    op(
        name,
        ref=ref,
        samples=[x(5, 2, **FEW), x(3, 4, **FEW), x(20, low=0, high=3)],
        options=SETS,
        call=getattr(flambeau, name),
        dtypes=("int64", "float32", "uint8", "bool", "float16"),
        grad=False,
        refuses=[(x(3), dict(dim=1), NO_DIM)],
        **EXACT,
    )
