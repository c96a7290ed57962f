"""Windows of signal processing: weights that fade towards both ends of a stretch of samples. Their
`options` are those of `torch.zeros`."""

from math import pi

from ._factory import arange
from ._functions import get_default_dtype
from ._gen import ops
from ._types import NAMES


def _window(
    n, periodic, weights, *, dtype=None, layout=None, device=None, pin_memory=False,
    requires_grad=False,
):  # fmt: skip
    """`weights` of the places 0 to n - 1; a periodic window is a longer one without its end."""
    if n < 0:
        raise RuntimeError(f"window_length must be non-negative, got {n}")
    dtype = dtype or get_default_dtype()
    if not dtype.is_floating_point:
        raise RuntimeError(f"window functions expect a floating point dtype, got: {dtype}")
    if n < 2:
        made = ops.TORCH["ones"]((n,), dtype=dtype, device=device)
    else:
        last = n if periodic else n - 1
        wide = NAMES["float64"]
        made = weights(arange(n, dtype=wide, device=device), last).to(dtype)
    made = made.pin_memory() if pin_memory else made
    return made.requires_grad_() if requires_grad else made


def _cosines(*factors):
    """Sums of cosines of 0, 1, 2... turns over the window."""

    def weights(places, last):
        return sum(a * (places * (2 * pi * k / last)).cos() for k, a in enumerate(factors))

    return weights


def hann_window(window_length, periodic=True, **options):
    """Hann's window, one turn of a raised cosine."""
    return _window(window_length, periodic, _cosines(0.5, -0.5), **options)


def hamming_window(window_length, periodic=True, alpha=0.54, beta=0.46, **options):
    """Hamming's window, `alpha - beta cos`."""
    weights = _cosines(alpha, -beta)
    return _window(window_length, periodic, weights, **options)


def blackman_window(window_length, periodic=True, **options):
    """Blackman's window, two cosines."""
    weights = _cosines(0.42, -0.5, 0.08)
    return _window(window_length, periodic, weights, **options)


def bartlett_window(window_length, periodic=True, **options):
    """Bartlett's window, a triangle."""

    def weights(places, last):
        return 1 - (places * (2 / last) - 1).abs()

    return _window(window_length, periodic, weights, **options)


def kaiser_window(window_length, periodic=True, beta=12.0, **options):
    """Kaiser's window, `i0(beta sqrt(1 - x^2)) / i0(beta)`."""

    def weights(places, last):
        x = places * (2 / last) - 1
        top = x.new_full((), beta).i0()
        return (beta * (1 - x * x).clamp(min=0).sqrt()).i0() / top

    return _window(window_length, periodic, weights, **options)
