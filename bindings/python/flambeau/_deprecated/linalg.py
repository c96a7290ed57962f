"""Linear algebra in spellings that torch has had before `torch.linalg`; old programs use them."""

from .._call import _result, fill
from .._gen.ops import LINALG as _LINALG
from .._on_demand import called
from .._types import contiguous_format
from ..linalg import pinv

_SVD = _result("svd", ("U", "S", "V"))
_QR = _result("qr", ("Q", "R"))
_TRIANGULAR = _result("triangular_solve", ("solution", "cloned_coefficient"))


def svd(input, some=True, compute_uv=True, *, out=None):
    """Singular value decomposition with V instead of its transpose: `input = U diag(S) V^T`."""
    if compute_uv:
        U, S, Vh = _LINALG["svd"](input, not some)
        found = _SVD(U, S, Vh.transpose(-2, -1))
    else:
        m, n = input.shape[-2:]
        S = _LINALG["svdvals"](input)
        U, V = input.new_zeros((*input.shape[:-1], m)), input.new_zeros((*S.shape[:-1], n, n))
        found = _SVD(U, S, V)
    return found if out is None else _SVD(*fill(out, found, "svd"))


def qr(input, some=True, *, out=None):
    """The old spelling of `linalg.qr`, without the mode "r"."""
    return _QR(*_LINALG["qr"](input, "reduced" if some else "complete", out=out))


def pinverse(input, rcond=1e-15):
    """The old spelling of `linalg.pinv`."""
    return pinv(input, rcond)


def triangular_solve(b, A, upper=True, transpose=False, unitriangular=False, *, out=None):
    """The old spelling of `linalg.solve_triangular`, which also returns a copy of `A`."""
    matrix = A.transpose(-2, -1) if transpose else A
    solve = _LINALG["solve_triangular"]
    found = solve(matrix, b, upper=upper != transpose, unitriangular=unitriangular)
    coefficient = A.mT.clone(memory_format=contiguous_format).mT  # column by column, as LAPACK's
    found = _TRIANGULAR(found, coefficient)
    return found if out is None else _TRIANGULAR(*fill(out, found, "triangular_solve"))


def lu(A, pivot=True, get_infos=False, *, out=None):
    """The old spelling of `linalg.lu_factor_ex`, which leaves it to the caller to ask for the
    number that says where a factor is singular."""
    LU, pivots, info = _LINALG["lu_factor_ex"](A, pivot=pivot)
    found = (LU, pivots, info) if get_infos else (LU, pivots)
    return found if out is None else tuple(fill(out, found, "lu"))


def lu_solve(b, LU_data, LU_pivots, *, out=None):
    """The old spelling of `linalg.lu_solve`."""
    return _LINALG["lu_solve"](LU_data, LU_pivots, b, out=out)


def _removed(name, instead):
    text = (
        f"torch.{name}: This function was deprecated since version 1.9 and is now removed. Please "
        f"use {instead}."
    )

    def refuse(*args, **named):
        raise RuntimeError(text)

    return called(refuse, name, text)


eig = _removed("eig", "torch.linalg.eig")
lstsq = _removed("lstsq", "torch.linalg.lstsq, whose arguments come in the other order")
matrix_rank = _removed("matrix_rank", "torch.linalg.matrix_rank")
solve = _removed("solve", "torch.linalg.solve, whose arguments come in the other order")
symeig = _removed("symeig", "torch.linalg.eigh or torch.linalg.eigvalsh")
