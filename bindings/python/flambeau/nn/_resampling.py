"""Resampling in torch's spelling, and convolutions whose padding is a word."""

from .._deprecated import renamed
from .._gen import api
from .._gen import ops as _ops
from .._on_demand import called

_F = _ops.FUNCTIONAL


def interpolate(input, size=None, scale_factor=None, mode="nearest", align_corners=None,
                recompute_scale_factor=None, antialias=False):  # fmt: skip
    """Resamples signals, images or volumes to `size`, or by `scale_factor`."""
    words = ("nearest", "linear", "bilinear", "bicubic", "trilinear", "area", "nearest-exact")
    if mode not in words:
        raise NotImplementedError(
            "Input Error: Only 3D, 4D and 5D input Tensors supported (got "
            f"{input.dim()}D) for the modes: nearest | linear | bilinear | bicubic | trilinear | "
            f"area | nearest-exact (got {mode})"
        )
    if mode in ("nearest", "area", "nearest-exact") and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear "
            "| bicubic | trilinear"
        )
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    how = mode.replace("-", "_"), align_corners, recompute_scale_factor, antialias
    return api.interpolate(input, size, scale_factor, *how)


def _old_name(form):
    old = form.__name__
    text = f"`nn.functional.{old}` is deprecated. Use `nn.functional.interpolate` instead."
    return renamed(form, old, text, UserWarning)


@_old_name
def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """torch's old name of `interpolate`."""
    return interpolate(input, size, scale_factor, mode, align_corners)


@_old_name
def upsample_nearest(input, size=None, scale_factor=None):
    """torch's old name of `interpolate` with mode "nearest"."""
    return interpolate(input, size, scale_factor, mode="nearest")


@_old_name
def upsample_bilinear(input, size=None, scale_factor=None):
    """torch's old name of `interpolate` with mode "bilinear" and `align_corners`."""
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


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


FUNCTIONS = {f.__name__: f for f in (interpolate, upsample, upsample_nearest, upsample_bilinear)}
FUNCTIONS |= {f"conv{n}d": _conv(n) for n in (1, 2, 3)}
