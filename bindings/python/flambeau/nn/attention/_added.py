"""What a function of scores adds to them, found by giving it a score that can be added to and
nothing else. A function that does anything else has no such tensor, and is called with the
scores.

Scores are f32, or f64 of f64 queries, and so is each term before it is added or subtracted: in its
own dtype bytes would wrap and halves be rounded. A sum of halves is no half, so that only a single
term that the queries' dtype holds whatever its value is given in that dtype."""

from numbers import Real

from ... import _torch as torch

_BYTES = (torch.bool, torch.uint8, torch.int8)  # each a bf16, an f16 and so on


def scores_dtype(dtype):
    """The dtype of the scores of queries."""
    return torch.float64 if dtype is torch.float64 else torch.float32


class _Score:
    """A score that nothing is known of, what was added to it (None: nothing), and whether that
    has a value of `dtype`, which is the queries'."""

    def __init__(self, dtype, added=None, fits=True):
        self.dtype, self.added, self.fits = dtype, added, fits

    def _and(self, other, sign):
        fits = self.added is None
        if isinstance(other, torch.Tensor):
            if other.is_complex():
                return NotImplemented
            fits = fits and other.dtype in (self.dtype, *_BYTES)
            other = other.to(scores_dtype(self.dtype))
        elif isinstance(other, Real):
            fits = False
        else:
            return NotImplemented
        before = 0 if self.added is None else self.added
        # A new tensor in either case: the function may write to its own afterwards.
        return _Score(self.dtype, before + other if sign > 0 else before - other, fits)

    def __add__(self, other):
        return self._and(other, 1)

    __radd__ = __add__

    def __sub__(self, other):
        if isinstance(other, torch.Tensor) and other.dtype is torch.bool:
            return NotImplemented  # as of tensors, which say so when called with the scores
        return self._and(other, -1)


def added_by(score_mod, at, dtype):
    """The tensor that `score_mod` adds at the places `at` to scores of queries of `dtype`, or None
    where it does more; of `dtype` if that surely holds it, else of the scores' dtype."""
    try:
        found = score_mod(_Score(dtype), *at)
    except Exception:  # what it does, the call with the scores shows
        return None
    if not isinstance(found, _Score):
        return None
    added = 0 if found.added is None else found.added
    held = dtype if found.fits else scores_dtype(dtype)
    return torch.as_tensor(added, dtype=held, device=at[0].device)
