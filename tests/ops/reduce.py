"""Reductions and running sums."""

import numpy as np
from scipy import special

from tests.harness.table import (
    ALL,
    FLOATS,
    NUMBERS,
    accumulated,
    always,
    default_float,
    op,
    x,
)

SAMPLES = [x(3, 4), x(2, 3, 5), x(6), x()]
NON_EMPTY = SAMPLES
EMPTY = [x(0, 3)]
DEEP = [x(3, 4), x(2, 3, 5)]


def over(f):
    """A NumPy reduction under torch's argument names."""
    return lambda a, dim=None, keepdim=False, **o: f(
        a, axis=dim if a.ndim else None, keepdims=keepdim, **o
    )


def wide(f):
    return over(lambda a, **o: f(a.astype(np.int64) if a.dtype == bool else a, **o))


KEEP = [dict(dim=-1, keepdim=True)]
DIMS = KEEP + [dict(dim=0)]
op(
    "sum",
    ref=wide(np.sum),
    samples=SAMPLES,
    options=DIMS,
    dtypes=ALL,
    result=accumulated,
    elementwise=False,
    atol=1e-6,
)
op(
    "nansum",
    ref=wide(np.nansum),
    samples=SAMPLES,
    options=DIMS,
    dtypes=FLOATS,
    elementwise=False,
    atol=1e-6,
)
op(
    "mean",
    ref=over(np.mean),
    samples=SAMPLES,
    options=DIMS,
    elementwise=False,
    bad={"int64": "could not infer output dtype"},
    atol=1e-6,
)
op(
    "prod",
    ref=wide(np.prod),
    samples=SAMPLES + [x(2, 3, values=(2.0, 0.0, 3.0, 1.5, 0.0, 0.0))],
    options=DIMS,
    dtypes=FLOATS + ("int64", "bool"),
    result=accumulated,
    elementwise=False,
)
for name, ref in [("max", np.max), ("min", np.min)]:
    op(name, ref=ref, samples=SAMPLES, dtypes=ALL, ulp=0, elementwise=False)
for name, ref in [("amax", np.max), ("amin", np.min)]:
    op(name, ref=over(ref), samples=SAMPLES, options=DIMS, dtypes=ALL, ulp=0, elementwise=False)


def along(best, where):
    def ref(a, dim, keepdim=False):
        return best(a, axis=dim, keepdims=keepdim), where(a, axis=dim, keepdims=keepdim).astype(
            np.int64
        )

    return ref


op(
    "max_dim",
    ref=along(np.max, np.argmax),
    samples=DEEP,
    options=DIMS,
    required=True,
    dtypes=NUMBERS,
    ulp=0,
    elementwise=False,
)
op(
    "min_dim",
    ref=along(np.min, np.argmin),
    samples=DEEP,
    options=DIMS,
    required=True,
    dtypes=NUMBERS,
    ulp=0,
    elementwise=False,
)
for name, ref in [("argmax", np.argmax), ("argmin", np.argmin)]:
    op(
        name,
        ref=over(lambda a, ref=ref, **o: ref(a, **o).astype(np.int64)),
        samples=SAMPLES,
        options=DIMS,
        dtypes=NUMBERS,
        result=always("int64"),
        grad=False,
        elementwise=False,
        bad={"bool": "does not support bool"},
    )
for name, ref in [("any", np.any), ("all", np.all)]:
    op(
        name,
        ref=over(ref),
        samples=SAMPLES + EMPTY,
        options=[dict(dim=0), dict(dim=-1, keepdim=True)],
        dtypes=ALL,
        result=lambda d: "uint8" if d == "uint8" else "bool",
        grad=False,
        elementwise=False,
    )


def moment(f, correction=None):
    def ref(a, dim=None, keepdim=False, **o):
        return f(a, axis=dim, keepdims=keepdim, ddof=o.get("correction", 1))

    return ref


MOMENTS = [dict(dim=-1, keepdim=True), dict(dim=0, correction=0), dict(correction=0.5)]
for name, ref in [("var", np.var), ("std", np.std)]:
    text = "only support floating point"
    op(
        name,
        ref=moment(ref),
        samples=DEEP,
        options=MOMENTS,
        ulp=3,
        elementwise=False,
        bad={"int64": text},
    )


def norm(a, p=2, dim=None, keepdim=False):
    if dim is None:
        flat = np.linalg.norm(a.ravel(), p)
        return np.full([1] * a.ndim, flat) if keepdim else np.asarray(flat)
    return np.linalg.norm(a, p, axis=dim, keepdims=keepdim)


ORDERS = [
    dict(p=1),
    dict(p=3, dim=-1, keepdim=True),
    dict(p=float("inf"), dim=0),
    dict(p=float("-inf")),
    dict(p=0),
]
op(
    "norm",
    ref=norm,
    samples=DEEP,
    options=ORDERS,
    ulp=3,
    elementwise=False,
    bad={"int64": "floating point"},
)
op(
    "logsumexp",
    ref=lambda a, dim, keepdim=False: special.logsumexp(
        np.asarray(a, float), axis=dim, keepdims=keepdim
    ),
    samples=DEEP,
    options=DIMS,
    required=True,
    dtypes=FLOATS + ("int64",),
    result=default_float,
    elementwise=False,
    atol=1e-6,
)
op(
    "count_nonzero",
    ref=lambda a, dim=None: np.asarray(
        np.count_nonzero(a, axis=dim if a.ndim else None), dtype=np.int64
    ),
    samples=SAMPLES + EMPTY,
    options=[dict(dim=0)],
    dtypes=ALL,
    result=always("int64"),
    grad=False,
    elementwise=False,
)
ALONG = [dict(dim=0), dict(dim=-1)]
op(
    "cumsum",
    ref=lambda a, dim: np.cumsum(a, axis=dim, dtype=None if a.dtype.kind == "f" else np.int64),
    samples=DEEP,
    options=ALONG,
    required=True,
    dtypes=ALL,
    result=accumulated,
    elementwise=False,
    atol=1e-6,
)
op(
    "cumprod",
    ref=lambda a, dim: np.cumprod(a, axis=dim, dtype=None if a.dtype.kind == "f" else np.int64),
    samples=DEEP + [x(2, 4, values=(2.0, 0.0, 3.0, 1.5, 1.0, 0.5, 0.0, 0.0))],
    options=ALONG,
    required=True,
    dtypes=FLOATS + ("int64",),
    result=accumulated,
    elementwise=False,
)
