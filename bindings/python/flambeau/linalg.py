"""torch.linalg: factorizations of matrices and what they answer.

The operations are the library's; here are only the spellings that take their arguments in more
than one way, and what is made of others."""

from . import _refused
from ._call import fill as _fill
from ._errors import LinAlgError, UnsupportedError
from ._gen import ops as _ops
from ._on_demand import shown as _shown
from ._tensor import Tensor
from ._types import finfo

__all__ = [
    *_ops.LINALG,
    *"LinAlgError diagonal eig eigvals matmul tensorinv tensorsolve vander".split(),
]
globals().update(_ops.LINALG)
matmul = _ops.TORCH["matmul"]


def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None, out=None):
    """The norm of all elements, or of those along dimensions: `(sum |x|^ord)^(1/ord)`."""
    found = _ops.LINALG["vector_norm"](x, ord, dim, keepdim, dtype=dtype)
    return found if out is None else _fill(out, found, "vector_norm")


def pinv(A, rcond=None, hermitian=False, *, atol=None, rtol=None, out=None):
    """Moore and Penrose's inverse; `rcond` is the old name of `rtol`."""
    rtol = _number(rtol if rcond is None else rcond)
    options = {"atol": _number(atol), "rtol": rtol, "hermitian": hermitian}
    return _ops.LINALG["pinv"](A, **options, out=out)


def matrix_rank(A, tol=None, hermitian=False, *, atol=None, rtol=None, out=None):
    """The number of singular values above `atol` and `rtol` times the greatest; `tol`, the old
    spelling, is both the former and all that counts."""
    if tol is not None:
        atol, rtol = tol, 0.0
    if any(isinstance(t, Tensor) and t.numel() != 1 for t in (atol, rtol)):
        found = _ranks(A, atol, rtol, hermitian)
        return found if out is None else _fill(out, found, "matrix_rank")
    options = {"atol": _number(atol), "rtol": _number(rtol), "hermitian": hermitian}
    return _ops.LINALG["matrix_rank"](A, **options, out=out)


def _ranks(A, atol, rtol, hermitian):
    """Ranks where each matrix has tolerances of its own."""
    sizes = _ops.LINALG["eigvalsh"](A).abs() if hermitian else _ops.LINALG["svdvals"](A)
    if rtol is None:
        epsilon = max(A.shape[-2:]) * finfo(A.dtype).eps
        rtol = _ops.TORCH["where"](atol > 0, atol.new_zeros(()), atol.new_full((), epsilon))
    most = sizes.amax(-1) if sizes.shape[-1] else sizes.sum(-1)
    bound = most * rtol
    bound = bound if atol is None else _ops.TORCH["maximum"](bound, bound.new_zeros(()) + atol)
    return (sizes > bound.unsqueeze(-1)).sum(-1)


def _number(tolerance):
    """A tolerance as a number."""
    if isinstance(tolerance, Tensor):
        if tolerance.numel() != 1:
            raise UnsupportedError("linalg: one tolerance for all matrices, or a number, is taken")
        return tolerance.item()
    return tolerance


def diagonal(A, *, offset=0, dim1=-2, dim2=-1):
    """The diagonals of matrices, a view."""
    return A.diagonal(offset, dim1, dim2)


def vander(x, N=None):
    """Rising powers of the elements along a new last dimension, `N` of them."""
    x = x if x.dim() else x.unsqueeze(0)
    n = x.shape[-1] if N is None else N
    if n <= 1:
        raise RuntimeError(f"N must be greater than 1, but got {n}.")
    powers = x.unsqueeze(-1).expand(*x.shape, n - 1).cumprod(-1)
    first = powers.new_ones((*x.shape, 1))
    return _ops.TORCH["cat"]((first, powers), -1)


def tensorinv(A, ind=2, *, out=None):
    """The inverse of `A` as a map from its last dimensions to its first `ind` ones."""
    if ind <= 0:
        raise RuntimeError("Expected a strictly positive integer for 'ind'")
    before, after = tuple(A.shape[:ind]), tuple(A.shape[ind:])
    rows, columns = _product(before), _product(after)
    if rows != columns:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == "
            f"prod(self.shape[:ind]), but got {columns} != {rows}"
        )
    found = _ops.LINALG["inv"](A.reshape(rows, columns)).reshape(after + before)
    return found if out is None else _fill(out, found, "tensorinv")


def tensorsolve(A, B, dims=None, *, out=None):
    """X with `tensordot(A, X, X.dim()) == B`."""
    if dims is not None:
        A = A.movedim(tuple(dims), tuple(range(-len(dims), 0)))
    shape = tuple(A.shape[B.dim() :])
    if _product(shape) != B.numel():
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
            f"prod(self.shape[:other.ndim]), but got {_product(shape)} != {B.numel()}"
        )
    found = _ops.LINALG["solve"](A.reshape(B.numel(), B.numel()), B.reshape(-1)).reshape(shape)
    return found if out is None else _fill(out, found, "tensorsolve")


def _product(sizes):
    n = 1
    for size in sizes:
        n *= size
    return n


_COMPLEX = (
    "its results are complex, and flambeau has no such factorization; for a symmetric matrix use "
    "linalg.eigh or linalg.eigvalsh"
)
eig, eigvals = (_refused.function("torch.linalg", name, _COMPLEX) for name in ("eig", "eigvals"))


globals().update({name: _shown(globals()[name], __name__, name) for name in __all__})
