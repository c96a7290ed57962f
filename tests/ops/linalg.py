"""Linear algebra: factors by what they make together, or where their signs are fixed by themselves.

Operands are made regular, positive or symmetric inside the call, so that every operand has a factor
and the gradient is that of a matrix anywhere."""

import flambeau
import numpy as np
from scipy import linalg as sl

from tests.harness.table import FLOATS, always, listed, op, x

KW = dict(
    dtypes=FLOATS[:2],
    ulp=32,
    atol={"float32": 2e-4, "float64": 1e-9},
    elementwise=False,
    bad={"int64": "floating point", "float16": "Low precision"},
)
BATCH = [x(64, 12, 12)]
SQUARE = [x(3, 3), x(2, 3, 3), x(1, 1), x(0, 3, 3), x(0, 0)]
NOT_SQUARE = [(x(2, 3), {}, "square matrices"), (x(3), {}, "at least 2 dimensions")]


def mt(a):
    return np.swapaxes(a, -1, -2) if isinstance(a, np.ndarray) else a.mT


def eye(a):
    if isinstance(a, np.ndarray):
        return np.eye(a.shape[-1])
    return flambeau.eye(a.shape[-1], dtype=a.dtype, device=a.device)


def regular(a):
    return a + 9 * eye(a) if a.ndim > 1 and a.shape[-1] == a.shape[-2] else a


def symmetric(a):
    return a + mt(a)


def definite(a):
    return a @ mt(a) + eye(a)


def lower(a):
    return (np.tril if isinstance(a, np.ndarray) else flambeau.tril)(regular(a))


def on(change, show=lambda y: y):
    """The first operand changed, the result shown."""
    return lambda f, a, *rest, **options: show(f(change(a), *rest, **options))


def of(change, ref):
    return lambda a, *rest, **options: ref(change(a), *rest, **options)


def with_info(y):
    return y[0], y[-1].long()


def zeros_like_batch(a):
    return np.zeros(a.shape[:-2], int)


op(
    "linalg_det",
    ref=np.linalg.det,
    samples=SQUARE + [x(3, 3, values=(1.0, 2, 3, 2, 4, 6, 1, 0, 1))],
    big=BATCH,
    refuses=NOT_SQUARE,
    **KW,
)
op(
    "linalg_slogdet",
    ref=np.linalg.slogdet,
    samples=[x(3, 3), x(2, 3, 3), x(0, 3, 3)],
    big=BATCH,
    refuses=NOT_SQUARE,
    **KW,
)
op(
    "logdet",
    ref=of(definite, lambda a: np.linalg.slogdet(a)[1]),
    arrange=on(definite),
    samples=[x(3, 3), x(2, 3, 3)],
    big=BATCH,
    **KW,
)
SINGULAR = x(3, 3, values=(-9.0, 0, 0, 0, 1, 0, 0, 0, 1))
op(
    "linalg_inv",
    ref=of(regular, np.linalg.inv),
    arrange=on(regular),
    samples=SQUARE,
    big=BATCH,
    refuses=[*NOT_SQUARE, (SINGULAR, {}, "diagonal element 1 is zero")],
    **KW,
)
op(
    "linalg_inv_ex",
    ref=of(regular, lambda a: (np.linalg.inv(a), zeros_like_batch(a))),
    arrange=on(regular, with_info),
    samples=SQUARE[:2],
    refuses=[(SINGULAR, dict(check_errors=True), "singular")],
    **KW,
)


def solved(a, b, left=True, **_):
    if not left:
        return mt(np.linalg.solve(mt(a), mt(b)))
    vector = b.ndim == 1 or b.shape == a.shape[:-1]
    return np.linalg.solve(a, b[..., None])[..., 0] if vector else np.linalg.solve(a, b)


EQUATIONS = [
    (x(3, 3), x(3, 2)),
    (x(3, 3), x(2, 3, 2)),
    (x(2, 1, 3, 3), x(3, 2)),
    (x(0, 0), x(0, 2)),
]
VECTORS = [(x(3, 3), x(3)), (x(2, 3, 3), x(2, 3))]
RIGHT = [((x(3, 3), x(2, 3)), dict(left=False))]
UNFIT = [((x(3, 3), x(2, 2)), {}, "Incompatible shapes"), ((x(2, 3), x(3, 2)), {}, "square")]
op(
    "linalg_solve",
    ref=of(regular, solved),
    arrange=on(regular),
    samples=EQUATIONS + VECTORS,
    pairs=RIGHT,
    big=[(x(64, 12, 12), x(12, 3))],
    refuses=[
        *UNFIT,
        ((SINGULAR, x(3, 2)), {}, "solver failed because the input matrix is singular"),
        ((x(3, 3), x(3, 2, dtype="float64")), {}, "same dtype"),
    ],
    **KW,
)
op(
    "linalg_solve_ex",
    ref=of(regular, lambda a, b, **o: (solved(a, b, **o), np.zeros(solved(a, b).shape[:-2], int))),
    arrange=on(regular, with_info),
    samples=EQUATIONS[:2],
    big=[(x(64, 12, 12), x(12, 3))],
    refuses=[((SINGULAR, x(3, 2)), dict(check_errors=True), "singular")],
    **KW,
)


def by_triangle(a, b, upper, left=True, unitriangular=False):
    triangle = (np.triu if upper else np.tril)(a, 0)
    if unitriangular:
        triangle = triangle * (1 - eye(a)) + eye(a)
    return solved(triangle, b, left)


def tamed(a):
    """Small beside the diagonal, whatever the diagonal counts as."""
    return 0.1 * a + eye(a)


op(
    "linalg_solve_triangular",
    ref=of(tamed, by_triangle),
    arrange=on(tamed),
    samples=EQUATIONS,
    options=[dict(upper=u, unitriangular=t) for u in (False, True) for t in (False, True)],
    required=True,
    pairs=[((x(3, 3), x(2, 3)), dict(left=False, upper=u)) for u in (False, True)],
    big=[(x(64, 12, 12), x(12, 3))],
    refuses=[
        ((x(3, 3), x(2, 2)), dict(upper=True), "Incompatible shapes"),
        ((x(3, 3), x(2)), dict(upper=True), "at least 2 dimensions"),
    ],
    **{**KW, "bad": {"float16": "Low precision"}},
)


def cholesky(a, upper=False, **_):
    found = np.linalg.cholesky(a)
    return mt(found) if upper else found


UPPER = [dict(upper=True)]
INDEFINITE = x(2, 2, values=(0.0, 2, 2, 0))
op(
    "linalg_cholesky",
    ref=of(definite, cholesky),
    arrange=on(definite),
    samples=SQUARE,
    options=UPPER,
    big=BATCH,
    **KW,
)
op(
    "linalg_cholesky_ex",
    ref=of(definite, lambda a, **o: (cholesky(a, **o), zeros_like_batch(a))),
    arrange=on(definite, with_info),
    samples=SQUARE[:2],
    options=UPPER,
    **KW,
)


def triangle_of(a, upper):
    return mt(a) if upper else a


op(
    "cholesky_inverse",
    ref=lambda a, upper=False: np.linalg.inv(lower(a) @ mt(lower(a))),
    arrange=lambda f, a, upper=False, **o: f(triangle_of(lower(a), upper), upper=upper, **o),
    samples=[x(3, 3), x(2, 3, 3)],
    options=UPPER,
    big=BATCH,
    **KW,
)
op(
    "cholesky_solve",
    ref=lambda b, a, upper=False: np.linalg.solve(lower(a) @ mt(lower(a)), b),
    arrange=lambda f, b, a, upper=False, **o: f(b, triangle_of(lower(a), upper), upper=upper, **o),
    samples=[(x(3, 2), x(3, 3)), (x(2, 3, 2), x(3, 3))],
    options=UPPER,
    big=[(x(64, 12, 3), x(12, 12))],
    refuses=[((x(2, 2), x(3, 3)), {}, "Incompatible matrix sizes")],
    **KW,
)


def qr(a, mode="reduced"):
    found = np.linalg.qr(a, mode)
    return (np.zeros(0), found) if mode == "r" else tuple(found)


op(
    "linalg_qr",
    ref=qr,
    samples=[x(4, 3), x(3, 3), x(2, 3, 4), x(0, 3, 3)],
    pairs=[(x(4, 3, grad=False), dict(mode=m)) for m in ("complete", "r")]
    + [(x(3, 4), dict(mode="complete"))],
    big=BATCH,
    refuses=[(x(3, 3), dict(mode="all"), "unrecognized mode"), (x(3), {}, "at least 2")],
    **KW,
)


def squared_vectors(y):
    return y[0], y[1] ** 2


def of_symmetric(f, a, **options):
    return f(symmetric(a), **options)


op(
    "linalg_eigh",
    ref=lambda a, UPLO="L": squared_vectors(np.linalg.eigh(symmetric(a), UPLO)),
    arrange=lambda f, a, **o: squared_vectors(f(symmetric(a), **o)),
    samples=[x(3, 3), x(2, 4, 4), x(0, 3, 3), x(0, 0)],
    options=[dict(UPLO="U")],
    big=BATCH,
    refuses=[(x(3, 3), dict(UPLO="X"), "UPLO argument to be 'L' or 'U'")],
    **KW,
)
op(
    "linalg_eigvalsh",
    ref=lambda a, UPLO="L": np.linalg.eigvalsh(symmetric(a), UPLO),
    arrange=of_symmetric,
    samples=[x(3, 3), x(2, 4, 4), x(0, 0)],
    options=[dict(UPLO="U")],
    big=BATCH,
    **KW,
)


def what_svd_says(y):
    """Squares, which have no sign, and that all vectors are orthonormal."""
    U, S, Vh = y
    k = S.shape[-1]
    left, right = (U, Vh) if isinstance(U, np.ndarray) else (U.detach(), Vh.detach())
    return U[..., :k] ** 2, S, Vh[..., :k, :] ** 2, mt(left) @ left, right @ mt(right)


op(
    "linalg_svd",
    ref=lambda a, full_matrices=True: what_svd_says(np.linalg.svd(a, full_matrices)),
    arrange=lambda f, a, **o: what_svd_says(f(a, **o)),
    samples=[x(3, 3), x(4, 3), x(2, 3, 4)],
    options=[dict(full_matrices=False)],
    big=BATCH,
    refuses=[
        (x(3), {}, "at least 2 dimensions"),
        (x(2, 2, values=(np.nan, 1.0, 1, 1)), {}, "non-finite values"),
    ],
    **KW,
)


def product(f, a, **options):
    """What the factors make together; of full rank they are no approximation. The vectors that they
    begin with are random, and here the same each time."""
    flambeau.manual_seed(0)
    U, S, V = f(a, **options)
    return (U * S.unsqueeze(-2)) @ mt(V)


LOW_RANK = dict(
    arrange=product,
    samples=[x(4, 3), x(3, 4), x(2, 4, 3)],
    big=BATCH,
    required=True,
    **KW,
)
op(
    "svd_lowrank",
    ref=lambda a, **_: a,
    options=[dict(q=12), dict(q=12, niter=0)],
    refuses=[
        (x(3), dict(q=2), "at least 2 dimensions"),
        (x(3, 3), dict(q=-1), "non-negative"),
        (x(3, 3), dict(niter=-1), "non-negative"),
        (x(3, 3), dict(niter=1001), "1000 at most"),
    ],
    **LOW_RANK,
)
op(
    "pca_lowrank",
    ref=lambda a, center=True, **_: a - a.mean(-2, keepdims=True) * center,
    options=[dict(center=False), dict(niter=1)],
    refuses=[(x(3, 3), dict(q=4), "not greater than")],
    **{**LOW_RANK, "samples": [x(5, 3), x(2, 4, 3)], "big": ()},
)
op(
    "linalg_svdvals",
    ref=lambda a: np.linalg.svd(a, compute_uv=False),
    samples=[x(3, 3), x(4, 3), x(2, 3, 4), x(3, 0)],
    big=BATCH,
    **KW,
)
op(
    "linalg_pinv",
    ref=lambda a, hermitian=False, **_: np.linalg.pinv(symmetric(a) if hermitian else a),
    arrange=lambda f, a, hermitian=False, **o: f(
        symmetric(a) if hermitian else a, hermitian=hermitian, **o
    ),
    samples=[x(3, 3), x(4, 3), x(2, 3, 4)],
    options=[dict(rtol=1e-5)],
    pairs=[(x(3, 3), dict(hermitian=True)), (x(3, 0), {})],
    **KW,
)
op(
    "linalg_matrix_rank",
    ref=lambda a, atol=0.0, rtol=0.0, hermitian=False: np.asarray(
        (np.abs(np.linalg.svd(a, compute_uv=False)) > max(atol, 1e-5)).sum(-1)
    ),
    samples=[x(3, 3), x(2, 4, 3), x(3, 3, values=(1.0, 2, 3, 2, 4, 6, 1, 0, 1))],
    options=[dict(atol=2.0)],
    grad=False,
    result=always("int64"),
    **{**KW, "bad": {"int64": "floating point"}},
)


def least_squares(a, b, driver=None):
    vector = b.ndim == 1 or b.shape == a.shape[:-1]
    found = np.linalg.pinv(a) @ (b[..., None] if vector else b)
    return found[..., 0] if vector else found


op(
    "linalg_lstsq",
    ref=least_squares,
    arrange=lambda f, a, b, **o: f(a, b, **o)[0],
    samples=[(x(4, 3), x(4, 2)), (x(3, 4), x(3, 2)), (x(2, 4, 3), x(4, 2)), (x(4, 3), x(4))],
    options=[dict(driver="gelsd"), dict(driver="gelsy")],
    required=True,  # the default of other devices is for full ranks alone
    big=[(x(64, 12, 6), x(12, 3))],
    refuses=[
        ((x(3, 3), x(2, 2)), {}, "should match"),
        ((x(3, 3), x(3, 2)), dict(driver="best"), "should be one of"),
        ((x(3, 3, values=(1.0,)), x(3, 2)), dict(driver="gels"), "full rank"),
    ],
    **KW,
)


def power(a, n):
    return np.linalg.matrix_power(regular(a) / 9, n)


op(
    "linalg_matrix_power",
    ref=power,
    arrange=lambda f, a, **o: f(regular(a) / 9, **o),
    samples=[x(3, 3), x(2, 3, 3)],
    options=[dict(n=n) for n in (1, 2, 5, -2)],
    required=True,
    pairs=[(x(2, 3, 3, grad=False), dict(n=0))],  # the identity, whatever the matrix
    big=BATCH,
    **{**KW, "bad": {}},
)
op(
    "linalg_multi_dot",
    ref=lambda *ts: np.linalg.multi_dot(ts),
    arrange=listed,
    samples=[(x(2, 3), x(3, 4), x(4, 2)), (x(3), x(3, 4), x(4)), (x(2, 3), x(3, 5))],
    big=[(x(150, 120), x(120, 90), x(90, 150))],
    refuses=[
        ((x(2, 3),), {}, "at least 2 tensors"),
        ((x(2, 3), x(2, 3)), {}, "cannot be multiplied"),
        ((x(2, 3), x(3, 4), x(2, 2, 2)), {}, "must be 1D or 2D"),
    ],
    **{**KW, "bad": {}},
)
op(
    "linalg_cross",
    ref=lambda a, b, dim=-1: np.cross(a, b, axis=dim),
    samples=[(x(4, 3), x(4, 3)), (x(3, 3), x(1, 3))],
    pairs=[((x(3, 5), x(3, 5)), dict(dim=0))],
    big=[(x(20_000, 3), x(20_000, 3))],
    refuses=[((x(4, 4), x(4, 4)), {}, "must have length 3")],
    **{**KW, "bad": {}},
)
op(
    "linalg_vecdot",
    ref=lambda a, b, dim=-1: (a * b).sum(dim),
    samples=[(x(4, 3), x(4, 3)), (x(3), x(4, 3))],
    options=[dict(dim=0)],
    big=[(x(300, 300), x(300, 300))],
    **{**KW, "bad": {}},
)


def matrix_norm(a, ord="fro", dim=(-2, -1), keepdim=False, **_):
    return np.linalg.norm(np.asarray(a), ord, tuple(dim), keepdim)


INF = float("inf")
NORM = {**KW, "bad": {"int64": "floating point"}}
ORDERS = [dict(ord=o) for o in (1, -1, 2, -2, INF, -INF)]
TURNED = dict(dim=(2, 0))
op(
    "linalg_matrix_norm",
    ref=matrix_norm,
    samples=[x(3, 4), x(2, 3, 4)],
    options=ORDERS,
    required=True,
    pairs=[(x(3, 2, 4), dict(ord=o, keepdim=k, **TURNED)) for o in (1, 2) for k in (False, True)],
    refuses=[
        (x(3, 3), dict(ord=3), "Order 3 not supported"),
        (x(3, 3), dict(ord=1, dim=(0, 0)), "must be different"),
        (x(3), dict(ord=1), "at least 2 dimensions"),
    ],
    **NORM,
)
op(
    "linalg_matrix_norm_by_name",
    ref=matrix_norm,
    samples=[x(3, 4), x(2, 3, 4)],
    options=[dict(ord="fro"), dict(ord="nuc")],
    pairs=[(x(3, 2, 4), dict(ord="nuc", keepdim=True, **TURNED))],
    refuses=[(x(3, 3), dict(ord="foo"), "Order foo not supported")],
    **NORM,
)


def any_norm(a, ord=None, dim=None, keepdim=False):
    if dim is None and ord is None:
        return np.sqrt((a * a).sum(keepdims=keepdim))
    return np.linalg.norm(a, ord, dim, keepdim)


op(
    "linalg_norm",
    ref=any_norm,
    samples=[x(3, 4), x(5)],
    options=[dict(ord=1), dict(ord=INF), dict(ord=2)],
    pairs=[
        (x(2, 3, 4), {}),
        (x(2, 3, 4), dict(ord=3, dim=1)),
        (x(2, 3, 4), dict(ord=1, dim=(0, 2))),
    ],
    refuses=[(x(2, 3, 4), dict(ord=2), "must be 1D or 2D")],
    **NORM,
)
op(
    "linalg_norm_by_name",
    ref=any_norm,
    samples=[x(3, 4)],
    options=[dict(ord="fro"), dict(ord="nuc")],
    required=True,
    pairs=[(x(2, 3, 4), dict(ord="nuc", dim=(0, 1)))],
    refuses=[(x(2, 3, 4), dict(ord="fro"), "must be 1D or 2D")],
    **NORM,
)
op(
    "norm_by_name",
    ref=lambda a, p, **o: any_norm(a, **o)
    if p == "fro" and "dim" not in o
    else (np.sqrt((a * a).sum(o["dim"])) if p == "fro" else any_norm(a, p, **o)),
    samples=[x(3, 4)],
    options=[dict(p="fro"), dict(p="nuc"), dict(p="fro", dim=1)],
    required=True,
    pairs=[(x(2, 3, 4), dict(p="fro"))],
    refuses=[(x(3, 3), dict(p="foo"), "Order foo not supported")],
    **NORM,
)
op(
    "linalg_cond",
    ref=lambda a, p=None: np.linalg.cond(regular(a), p),
    arrange=on(regular),
    samples=[x(3, 3), x(2, 3, 3)],
    options=[dict(p=o) for o in (1, -1, 2, -2, INF)],
    refuses=[(x(3, 3), dict(p=3), "Order 3 not supported"), (x(2, 3), dict(p=1), "square")],
    **{**KW, "bad": {"int64": "floating point"}},
)
op(
    "linalg_cond_by_name",
    ref=lambda a, p: np.linalg.cond(regular(a), "fro")
    if p == "fro"
    else np.linalg.norm(regular(a), "nuc", (-2, -1))
    * np.linalg.norm(np.linalg.inv(regular(a)), "nuc", (-2, -1)),
    arrange=on(regular),
    samples=[x(3, 3)],
    options=[dict(p="fro"), dict(p="nuc")],
    required=True,
    refuses=[(x(3, 3), dict(p="foo"), "invalid norm type")],
    **KW,
)


def each(f, a):
    """f of every matrix of a batch."""
    made = [f(m) for m in a.reshape(-1, *a.shape[-2:])]
    parts = zip(*made)
    return tuple(np.array(p).reshape(*a.shape[:-2], *np.shape(p[0])) for p in parts)


def lu_factor(a, **_):
    return each(lambda m: (sl.lu_factor(m)[0], sl.lu_factor(m)[1] + 1), a)


def with_long(y):
    return (y[0], *(t.long() for t in y[1:]))


LU = [x(3, 3), x(2, 3, 3)]
op(
    "linalg_lu_factor",
    ref=of(regular, lu_factor),
    arrange=on(regular, with_long),
    samples=LU,
    big=BATCH,
    refuses=[
        (SINGULAR, {}, r"U\[1,1\] is zero"),
        (x(3, 3), dict(pivot=False), "without pivoting"),
    ],
    **KW,
)
op(
    "linalg_lu_factor_ex",
    ref=lambda a: (*lu_factor(a), zeros_like_batch(a)),
    arrange=on(lambda a: a, with_long),
    samples=LU,
    **KW,
)
op("linalg_lu", ref=sl.lu, samples=[x(3, 3), x(2, 4, 3), x(3, 4)], **KW)
op(
    "lu_unpack",
    ref=sl.lu,
    arrange=lambda f, a: f(*flambeau.linalg.lu_factor_ex(a)[:2]),
    samples=[x(3, 3), x(2, 4, 3), x(3, 4)],
    **{**KW, "bad": {}},
)


def reflections(a):
    """What LAPACK makes of each matrix: R and the reflections, and their factors."""
    return each(lambda m: sl.qr(m, mode="raw")[0], a)


def of_reflections(q_of):
    """The reference on NumPy's reflections of the first operand, of which the call gets ours."""
    return lambda a, *rest, **options: q_of(np.linalg.qr(a, "complete")[0], a, *rest, **options)


op("geqrf", ref=reflections, samples=[x(3, 3), x(2, 4, 3), x(3, 4)], grad=False, **KW)


def by_reflections(f, a, *rest, **options):
    return f(*flambeau.geqrf(a), *rest, **options)


op(
    "linalg_householder_product",
    ref=of_reflections(lambda q, a: q[..., : a.shape[-1]]),
    arrange=by_reflections,
    samples=[x(3, 3), x(2, 4, 3)],
    grad=False,
    **{**KW, "bad": {}},
)


def turned(q, a, other, left=True, transpose=False):
    q = mt(q) if transpose else q
    return q @ other if left else other @ q


op(
    "ormqr",
    ref=of_reflections(turned),
    arrange=by_reflections,
    samples=[(x(4, 4), x(4, 4)), (x(4, 3), x(4, 4))],
    options=[dict(transpose=True), dict(left=False), dict(left=False, transpose=True)],
    grad=False,
    refuses=[((x(4, 3), x(3, 2)), {}, "must be equal to input.shape")],
    **{**KW, "bad": {}},
)
OF_UNLIKE_NORMS = x(2, 2, 2, values=(0.1, 0.2, 0.3, -0.4, -3e4, 0.0, 0.0, -2e4))
op(
    "linalg_matrix_exp",
    ref=lambda a: each(lambda m: (sl.expm(m),), a)[0],
    samples=[x(3, 3, low=-1.0, high=1.0), x(2, 3, 3), x(1, 1), OF_UNLIKE_NORMS],
    refuses=NOT_SQUARE,
    **{**KW, "bad": {"int64": "floating point"}},
)


def factored(f, a, b, **options):
    return f(*flambeau.linalg.lu_factor(regular(a)), b, **options)


op(
    "linalg_lu_solve",
    ref=lambda a, b, left=True, adjoint=False: solved(
        mt(regular(a)) if adjoint else regular(a), b, left
    ),
    arrange=factored,
    samples=[(x(3, 3), x(3, 2)), (x(2, 3, 3), x(2, 3, 2))],
    options=[dict(adjoint=True)],
    pairs=RIGHT,
    big=[(x(64, 12, 12), x(64, 12, 3))],
    refuses=[((x(3, 3), x(2, 2)), {}, "Incompatible shapes")],
    **KW,
)
