"""Pairs of statistics, and those that leave NaN out."""

import warnings

import numpy as np

from tests.harness.table import ALL, FLOATS, op, x

DEEP = [x(3, 4), x(2, 3, 5)]
KW = dict(elementwise=False, ulp=4, atol=1e-6)
MOMENTS = [dict(dim=-1, keepdim=True), dict(dim=0, correction=0), dict(correction=0.5)]


def pair(f):
    def ref(a, dim=None, keepdim=False, **o):
        spread = f(a, axis=dim, keepdims=keepdim, ddof=o.get("correction", 1))
        return spread, np.mean(a, axis=dim, keepdims=keepdim)

    return ref


for name, ref in [("var_mean", np.var), ("std_mean", np.std)]:
    bad = {"int64": "only support floating point"}
    op(name, ref=pair(ref), samples=DEEP, options=MOMENTS, bad=bad, **KW)


def nanmean(a, dim=None, keepdim=False):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.nanmean(a, axis=dim, keepdims=keepdim)


NAN = float("nan")
op(
    "nanmean",
    ref=nanmean,
    samples=DEEP,
    options=[dict(dim=0), dict(dim=-1, keepdim=True)],
    pairs=[(x(2, 3, values=(1.0, NAN, 3.0, NAN, NAN, NAN), grad=False), dict(dim=1))],
    bad={"int64": "floating point"},
    **KW,
)
op(
    "aminmax",
    ref=lambda a, dim=None, keepdim=False: (
        np.min(a, axis=dim, keepdims=keepdim),
        np.max(a, axis=dim, keepdims=keepdim),
    ),
    samples=DEEP,
    options=[dict(dim=0), dict(dim=-1, keepdim=True)],
    dtypes=ALL,
    elementwise=False,
    ulp=0,
    second=False,
    refuses=[(x(0), {}, "empty dimension"), (x(0, 3), dict(dim=0), "non-zero size")],
)


def cov(a, f=None, w=None, correction=1):
    if a.ndim == 2 and a.shape[0] == 1:
        return np.cov(a, ddof=correction, fweights=f, aweights=w).reshape(1, 1)
    return np.cov(a, ddof=correction, fweights=f, aweights=w)


op(
    "cov",
    ref=cov,
    samples=[(x(3, 5),), (x(5),)],
    options=[dict(correction=0)],
    pairs=[
        ((x(3, 5), x(5, values=(1, 2, 3, 1, 1), dtype="int64")), {}),
        ((x(3, 3), x(3, values=(1, 2, 3), dtype="int64"), x(3, low=0.2, high=1, grad=False)), {}),
    ],
    arrange=lambda f, a, fweights=None, aweights=None, **o: f(
        a, fweights=fweights, aweights=aweights, **o
    ),
    dtypes=FLOATS[:2],
    refuses=[
        ((x(2, 2, 2),), {}, "two or fewer dimensions"),
        ((x(3, 5), x(4, low=0, dtype="int64")), {}, "same numel"),
        ((x(3, 2), x(2, values=(-1, 1), dtype="int64")), {}, "negative"),
    ],
    **KW,
)
op(
    "corrcoef",
    ref=np.corrcoef,
    samples=[x(3, 5), x(2, 7)],
    dtypes=FLOATS[:2],
    refuses=[(x(2, 2, 2), {}, "two or fewer dimensions")],
    **KW,
)
