"""Parts and conjugates as torch names them. A conjugate is computed at once, never a mark on a
view, so that no tensor is to be conjugated or negated when it is read."""

from ._call import _fast, _own_view, _raise
from ._factory import as_tensor
from ._gen import ops
from ._tensor import Tensor


def real(input):
    """A view of the real parts; of a real tensor, itself."""
    if not input.is_complex():
        return input
    found = _own_view(Tensor, input, _fast.flam_real, input._h)
    return _raise() if found is None else found


def imag(input):
    """A view of the imaginary parts, which complex tensors have."""
    found = _own_view(Tensor, input, _fast.flam_imag, input._h)
    return _raise() if found is None else found


def set_real(input, value):
    """Writes the real parts."""
    real(input).copy_(as_tensor(value))


def set_imag(input, value):
    """Writes the imaginary parts."""
    imag(input).copy_(as_tensor(value))


def conj(input):
    """The conjugates; of a real tensor, itself."""
    return ops.TORCH["conj_physical"](input) if input.is_complex() else input


def resolve_conj(input):
    """The tensor itself: what it stands for is what its memory holds."""
    return input


resolve_neg = resolve_conj


def is_conj(input):
    """Whether it is to be conjugated when it is read: never."""
    return False


is_neg = is_conj


def isreal(input):
    """Where the imaginary part is 0; true everywhere of a real tensor."""
    if input.is_complex():
        return imag(input) == 0
    return ops.TORCH["ones_like"](input, dtype=ops.TORCH["isnan"](input).dtype)
