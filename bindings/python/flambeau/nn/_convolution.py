"""Convolutions in torch's spelling: with a padding that is a word, and along time before batch."""

from .._gen import ops as _ops
from .._on_demand import called

_F = _ops.FUNCTIONAL


def _conv(n):
    plain = _F[f"conv{n}d"]

    def conv(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        if padding.__class__ is not str:
            return plain(input, weight, bias, stride, padding, dilation, groups)
        if padding == "valid":
            return plain(input, weight, bias, stride, 0, dilation, groups)
        if padding != "same":
            raise RuntimeError(f"Invalid padding string: '{padding}'")
        strides = (stride,) * n if isinstance(stride, int) else tuple(stride)
        if any(s != 1 for s in strides):
            raise RuntimeError("padding='same' is not supported for strided convolutions")
        steps = (dilation,) * n if isinstance(dilation, int) else tuple(dilation)
        totals = [d * (k - 1) for d, k in zip(steps, weight.shape[2:])]
        if all(t % 2 == 0 for t in totals):
            return plain(input, weight, bias, 1, [t // 2 for t in totals], dilation, groups)
        sides = [side for t in reversed(totals) for side in (t // 2, t - t // 2)]
        return plain(_F["pad"](input, sides), weight, bias, 1, 0, dilation, groups)

    return called(conv, f"conv{n}d", plain.__doc__)


def conv_tbc(input, weight, bias, pad=0):
    """The convolution of [time, batch, channels] with [kernel, channels, results]."""
    if input.dim() != 3 or weight.dim() != 3:
        raise RuntimeError(
            "conv_tbc: input must be [time, batch, channels] and weight [kernel, channels, results]"
            f", but got {list(input.shape)} and {list(weight.shape)}"
        )
    planes = _F["conv1d"](input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, 1, pad)
    return planes.permute(2, 0, 1)


FUNCTIONS = {f"conv{n}d": _conv(n) for n in (1, 2, 3)} | {"conv_tbc": conv_tbc}
