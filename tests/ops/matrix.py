"""Products of vectors and matrices, diagonals, distances."""

import numpy as np

from tests.harness.table import ALL, FLOATS, accumulated, op, x

EXACT = dict(dtypes=ALL, ulp=0, elementwise=False)
KW = dict(dtypes=FLOATS[:2], ulp=4, atol=1e-5, elementwise=False)
FACTORS = [dict(beta=0.5, alpha=2.0), dict(beta=0)]


def added(product):
    return lambda a, b, c, beta=1, alpha=1: beta * a + alpha * product(b, c)


op(
    "addmv",
    ref=added(np.matmul),
    samples=[(x(3), x(3, 4), x(4)), (x(1), x(3, 4), x(4))],
    options=FACTORS[:1],
    big=[(x(300), x(300, 300), x(300))],
    refuses=[((x(3), x(3, 4), x(3)), {}, "size mismatch")],
    **KW,
)
op(
    "addr",
    ref=added(np.outer),
    samples=[(x(3, 4), x(3), x(4)), (x(4), x(3), x(4))],
    options=FACTORS[:1],
    big=[(x(300, 300), x(300), x(300))],
    refuses=[((x(3, 4), x(3, 1), x(4)), {}, "vec1 must be a 1D")],
    **KW,
)
op(
    "addbmm",
    ref=added(lambda b, c: np.matmul(b, c).sum(0)),
    samples=[(x(3, 5), x(2, 3, 4), x(2, 4, 5))],
    options=FACTORS[:1],
    big=[(x(90, 90), x(8, 90, 90), x(8, 90, 90))],
    refuses=[((x(3, 5), x(2, 3, 4), x(3, 4, 5)), {}, "same number of batches")],
    **KW,
)
op(
    "inner",
    ref=np.inner,
    samples=[(x(2, 3), x(4, 3)), (x(3), x(3)), (x(2, 3), x())],
    big=[(x(200, 300), x(100, 300))],
    refuses=[((x(2, 3), x(3, 2)), {}, "last dimension must match")],
    **KW,
)
op(
    "vdot",
    ref=np.vdot,
    samples=[(x(5), x(5)), (x(0), x(0))],
    big=[(x(90_000), x(90_000))],
    **KW,
)
op(
    "kron",
    ref=np.kron,
    samples=[(x(2, 3), x(3, 2)), (x(3), x(3, 2)), (x(), x(2))],
    big=[(x(20, 30), x(20, 20))],
    elementwise=False,
    dtypes=FLOATS + ("int64",),
)
op(
    "cross",
    ref=lambda a, b, dim=None: np.cross(a, b, axis=-1 if dim is None else dim),
    samples=[(x(4, 3), x(4, 3)), (x(1, 3), x(4, 3))],
    options=[dict(dim=1)],
    pairs=[((x(3, 5), x(3, 5)), dict(dim=0))],
    big=[(x(20_000, 3), x(20_000, 3))],
    refuses=[
        ((x(4, 4), x(4, 4)), {}, "no dimension of size 3"),
        ((x(4, 3), x(4, 3)), dict(dim=0), "must have length 3"),
        ((x(3), x(2, 3)), {}, "same number of dimensions"),
    ],
    **KW,
)
op(
    "trace",
    ref=lambda a: np.trace(a, dtype=None if a.dtype.kind == "f" else np.int64),
    samples=[x(3, 4), x(3, 3), x(0, 3)],
    dtypes=ALL,
    result=accumulated,
    elementwise=False,
    atol=1e-6,
    refuses=[(x(3), {}, "expected a matrix")],
)
op(
    "diag",
    ref=lambda a, diagonal=0: np.diag(a, diagonal),
    samples=[x(3), x(3, 4)],
    options=[dict(diagonal=1), dict(diagonal=-2)],
    refuses=[(x(2, 2, 2), {}, "Supports 1D or 2D")],
    **EXACT,
)


def diag_embed(a, offset=0, dim1=-2, dim2=-1):
    n = a.shape[-1] + abs(offset)
    y = np.zeros((*a.shape[:-1], n, n), a.dtype)
    at = np.arange(a.shape[-1])
    y[..., at + max(-offset, 0), at + max(offset, 0)] = a
    return np.moveaxis(y, (-2, -1), (dim1, dim2))


op(
    "diag_embed",
    ref=diag_embed,
    samples=[x(2, 3), x(3), x(2, 0)],
    options=[
        dict(offset=1),
        dict(offset=-2),
        dict(offset=1, dim1=0, dim2=1),
        dict(dim1=-1, dim2=0),
    ],
    refuses=[(x(3), dict(dim1=1, dim2=1), "identical"), (x(), {}, "at least 1 dimension")],
    **EXACT,
)
op(
    "diagflat",
    ref=lambda a, offset=0: np.diagflat(a, offset),
    samples=[x(2, 2), x(), x(3)],
    options=[dict(offset=1), dict(offset=-2)],
    big=[x(300)],
    **EXACT,
)
for name, ref in [("tril_indices", np.tril_indices), ("triu_indices", np.triu_indices)]:
    op(
        name,
        ref=lambda row, col, offset=0, ref=ref, **_: np.stack(ref(row, offset, col)),
        options=[
            dict(row=3, col=4),
            dict(row=4, col=3, offset=1),
            dict(row=3, col=3, offset=-1),
            dict(row=0, col=3),
        ],
        required=True,
        creates=True,
        dtypes=("int64", "int32"),
        grad=False,
        elementwise=False,
        refuses=[((), dict(row=-1, col=2), "non-negative")],
    )


def cdist(a, b, p=2.0, compute_mode=None):
    return np.linalg.norm(a[..., :, None, :] - b[..., None, :, :], p, axis=-1)


PRODUCTS = dict(compute_mode="use_mm_for_euclid_dist")
op(
    "cdist",
    ref=cdist,
    samples=[(x(3, 4), x(5, 4)), (x(2, 3, 4), x(1, 5, 4))],
    options=[dict(p=1.0), dict(p=3.0), dict(p=float("inf")), PRODUCTS],
    dtypes=FLOATS[:2],
    ulp=4,
    atol=2e-5,
    big=[(x(200, 20), x(100, 20))],
    elementwise=False,
    refuses=[
        ((x(3, 4), x(3, 5)), {}, "same number of columns"),
        ((x(3, 4), x(3, 4)), dict(p=-1.0), "non-negative p"),
        ((x(4), x(3, 4)), {}, "at least 2D"),
    ],
    bad={"int64": "only supports floating-point"},
)
op(
    "dist",
    ref=lambda a, b, p=2.0: np.linalg.norm((a - b).ravel(), p),
    samples=[(x(3, 4), x(3, 4)), (x(3, 4), x(4))],
    options=[dict(p=1.0), dict(p=float("inf"))],
    **KW,
)


def renorm(a, p, dim, maxnorm):
    others = tuple(i for i in range(a.ndim) if i != dim % a.ndim)
    norms = np.sum(np.abs(a) ** p, axis=others, keepdims=True) ** (1 / p)
    return a * np.where(norms > maxnorm, maxnorm / (norms + 1e-7), 1.0)


op(
    "renorm",
    ref=renorm,
    samples=[x(3, 4), x(2, 3, 4)],
    options=[dict(p=2.0, dim=0, maxnorm=1.7), dict(p=1.0, dim=1, maxnorm=3.0)],
    required=True,
    refuses=[
        (x(3), dict(p=2.0, dim=0, maxnorm=1.0), "at least 2 dimensions"),
        (x(3, 3), dict(p=-1.0, dim=0, maxnorm=1.0), "norm not supported"),
        (x(3, 3), dict(p=1.0, dim=0, maxnorm=-1.0), "maxnorm"),
    ],
    **KW,
)


def block_diag(*ts):
    blocks = [np.atleast_2d(t) for t in ts]
    y = np.zeros([sum(b.shape[i] for b in blocks) for i in (0, 1)], blocks[0].dtype)
    row = col = 0
    for b in blocks:
        y[row : row + b.shape[0], col : col + b.shape[1]] = b
        row, col = row + b.shape[0], col + b.shape[1]
    return y


op(
    "block_diag",
    ref=block_diag,
    samples=[(x(2, 3), x(3), x()), (x(2, 2),), (x(0, 2), x(1, 1))],
    big=[(x(150, 100), x(150, 200))],
    refuses=[((x(2, 2, 2),), {}, "2 or fewer")],
    **EXACT,
)
op(
    "vander",
    ref=lambda a, N=None, increasing=False: np.vander(a, N, increasing),
    samples=[x(4)],
    options=[dict(N=3, increasing=True), dict(N=1), dict(N=0)],
    dtypes=FLOATS[:2] + ("int64",),
    result=lambda d: d if d in FLOATS else "int64",
    ulp=4,
    big=[x(300)],
    elementwise=False,
    refuses=[(x(2, 2), {}, "one-dimensional"), (x(3), dict(N=-1), "non-negative")],
)
