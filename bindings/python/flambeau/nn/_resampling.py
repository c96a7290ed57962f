"""Resampling in torch's spelling: to a size, by a factor, at the places of a grid."""

from .._deprecated import renamed, warn
from .._gen import api
from .._gen import ops as _ops
from .._torch import Tensor
from .._torch import bool as bool_type

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
    _check_each(input, "output", "output size of", size)
    _check_each(input, "scale_factor", "scale_factor of shape", scale_factor)
    _check_whole(size)
    size = int(size) if isinstance(size, Tensor) else size  # one for all dimensions
    how = mode.replace("-", "_"), align_corners, recompute_scale_factor, antialias
    return api.interpolate(input, size, scale_factor, *how)


def _check_each(input, name, called, given):
    if isinstance(given, (tuple, list)) and len(given) != input.dim() - 2:
        raise ValueError(
            f"Input and {name} must have the same number of spatial dimensions, but got input with "
            f"spatial dimensions of {list(input.shape[2:])} and {called} {given}."
        )


def _check_whole(size):
    sizes = size if isinstance(size, (tuple, list)) else () if size is None else (size,)
    if not all(map(_is_whole, sizes)):
        raise TypeError(
            "expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, "
            f"int], but got size with types {list(map(type, sizes))}"
        )


def _is_whole(n):
    if isinstance(n, Tensor):
        return not n.is_floating_point() and n.dtype is not bool_type
    return hasattr(n, "__index__") and not isinstance(n, bool)


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


# The numbers by which the functions of `torch` take the words of `grid_sample`.
GRID_SAMPLE_INTERPOLATION_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
GRID_SAMPLE_PADDING_MODES = {"zeros": 0, "border": 1, "reflection": 2}


def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    """Samples images or volumes at places between -1 and 1: the centres of the outer pixels where
    `align_corners`, else their outer edges."""
    _check_word("mode", mode, GRID_SAMPLE_INTERPOLATION_MODES)
    _check_word("padding_mode", padding_mode, GRID_SAMPLE_PADDING_MODES)
    aligned = _aligned(align_corners, "grid_sample")
    return _F["grid_sample"](input, grid, mode, padding_mode, aligned)


def affine_grid(theta, size, align_corners=None):
    """The grid of places that an affine map takes the pixels of an image to."""
    aligned = _aligned(align_corners, "affine_grid")
    grid = _F["affine_grid"](theta, size, aligned)
    if aligned and min(size[2:]) == 1:
        warn(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when "
            "align_corners=True. This is not an intended use case of affine_grid. See the "
            "documentation of affine_grid for details."
        )
    return grid


def _check_word(name, word, known):
    if word not in known:
        *others, last = map(repr, known)
        raise ValueError(
            f"nn.functional.grid_sample(): expected {name} to be {', '.join(others)} or {last}, "
            f"but got: '{word}'"
        )


def _aligned(align_corners, name):
    if align_corners is None:
        warn(
            "Default grid_sample and affine_grid behavior has changed to align_corners=False since "
            "1.3.0. Please specify align_corners=True if the old behavior is desired. See the "
            f"documentation of {name} for details."
        )
    return bool(align_corners)


FUNCTIONS = {f.__name__: f for f in (interpolate, upsample, upsample_nearest, upsample_bilinear)}
FUNCTIONS |= {"grid_sample": grid_sample, "affine_grid": affine_grid}
