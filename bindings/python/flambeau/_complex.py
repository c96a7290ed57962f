"""What torch has for complex numbers, of tensors that are real: parts, angles and conjugates."""

from math import pi

from ._call import fill
from ._gen import api, ops


def real(input):
    """The tensor itself: it is real."""
    return input


def imag(input):
    """Refused, as by torch: there is no imaginary part to look at."""
    raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")


def conj(input):
    """The tensor itself: it is its own conjugate."""
    return input


resolve_conj = resolve_neg = conj


def conj_physical(input, *, out=None):
    """The tensor itself: it is its own conjugate."""
    return input if out is None else fill(out, input, "conj_physical")


def conj_physical_(input):
    """The tensor itself: it is its own conjugate."""
    return input


def is_conj(input):
    """Whether it is to be conjugated when it is read: never."""
    return False


is_neg = is_conj


def isreal(input):
    """True everywhere."""
    return ops.TORCH["ones_like"](input, dtype=ops.TORCH["isnan"](input).dtype)


def angle(input, *, out=None):
    """0 of numbers that are not negative, pi of those that are."""
    where = ops.TORCH["where"]
    x = input if input.is_floating_point() else input.to(api.get_default_dtype())
    found = where(x.isnan(), x, where(x.detach() < 0, x.new_full((), pi), x.new_zeros(())))
    return found if out is None else fill(out, found, "angle", cast=True)
