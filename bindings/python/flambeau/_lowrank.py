"""Singular values and principal components of which only the greatest are wanted.

Source: Halko, Martinsson and Tropp, "Finding structure with randomness", 2009, algorithms 4.4 and
5.1."""

from ._call import _result
from ._gen import ops

_SVD = _result("svd_lowrank", ("U", "S", "V"))


def _basis(A, q, niter, M):
    """Columns that span what `q` random vectors become under A and its transpose."""

    def times(matrix, mean, x):
        product = matrix.matmul(x)
        return product if mean is None else product - mean.matmul(x)

    start = ops.TORCH["randn"]((A.shape[-1], q), dtype=A.dtype, device=A.device)
    qr, turned = ops.LINALG["qr"], None if M is None else M.mT
    found = qr(times(A, M, start)).Q
    for _ in range(niter):
        found = qr(times(A.mT, turned, found)).Q
        found = qr(times(A, M, found)).Q
    return found


def svd_lowrank(A, q=6, niter=2, M=None):
    """The `q` greatest singular values of A, or of A - M, with their vectors, nearly; `niter`
    rounds of power iteration make them better."""
    M = None if M is None else M.broadcast_to(A.shape)
    wide = A.shape[-2] < A.shape[-1]
    if wide:
        A, M = A.mT, None if M is None else M.mT
    Q = _basis(A, q, niter, M)
    small = Q.mT.matmul(A if M is None else A - M)
    U, S, Vh = ops.LINALG["svd"](small, False)
    U, V = Q.matmul(U), Vh.mT
    return _SVD(V, S, U) if wide else _SVD(U, S, V)


def pca_lowrank(A, q=None, center=True, niter=2):
    """Principal components of the rows of A: `svd_lowrank` of A without the mean of its rows."""
    m, n = A.shape[-2:]
    q = min(6, m, n) if q is None else q
    if not 0 <= q <= min(m, n):
        raise ValueError(
            f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}"
        )
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)
