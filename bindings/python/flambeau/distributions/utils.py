"""Helpers under torch's names, for programs that write distributions of their own."""

from .. import _torch as torch
from .distribution import broadcast as broadcast_all
from .distribution import clamped as clamp_probs
from .distribution import lazy_property, sum_rightmost

__all__ = (
    "broadcast_all clamp_probs lazy_property logits_to_probs probs_to_logits tril_matrix_to_vec "
    "vec_to_tril_matrix"
).split()

_sum_rightmost = sum_rightmost


def _standard_normal(shape, dtype=None, device=None):
    return torch.randn(shape, dtype=dtype, device=device)


def logits_to_probs(logits, is_binary=False):
    """Probabilities, of two outcomes or of classes along the last dimension."""
    return torch.sigmoid(logits) if is_binary else torch.softmax(logits, -1)


def probs_to_logits(probs, is_binary=False):
    """Log-odds of one outcome of two, or logarithms of the classes' probabilities."""
    probs = clamp_probs(probs)
    return probs.log() - torch.log1p(-probs) if is_binary else probs.log()


def _triangle(n, diag, like):
    return torch.ones(n, n, dtype=torch.bool, device=like.device).tril(diag)


def tril_matrix_to_vec(mat, diag=0):
    """The elements of matrices on a diagonal and below it, row by row."""
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    return mat[..., _triangle(n, diag, mat)]


def vec_to_tril_matrix(vec, diag=0):
    """Matrices with these elements on a diagonal and below it, and zeros above."""
    count = vec.shape[-1]
    # n rows have sum(min(i + 1 + diag, n)) of them.
    n = next(
        n
        for n in range(max(1, diag + 1, -diag), count + abs(diag) + 2)
        if sum(min(max(i + 1 + diag, 0), n) for i in range(n)) >= count
    )
    mask = _triangle(n, diag, vec)
    if int(mask.sum()) != count:
        raise ValueError(
            f"The size of last dimension is {count} which cannot be expressed as the lower "
            "triangular part of a square D x D matrix."
        )
    found = vec.new_zeros((*vec.shape[:-1], n, n))
    found[..., mask] = vec
    return found
