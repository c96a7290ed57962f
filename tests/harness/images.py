"""NumPy references of what resamples and rearranges images. The rows are in tests/ops/image.py.

Every resampling is one matrix for each dimension, from which of its elements each new one is made.
"""

import itertools

import numpy as np

from .windows import at, batched, each, padded, places

CUBIC, SMOOTH_CUBIC = -0.75, -0.5


def cubic(t, a):
    """Keys' kernel at distance t."""
    t = np.abs(t)
    inner = ((a + 2) * t - (a + 3)) * t * t + 1
    outer = ((a * t - 5 * a) * t + 8 * a) * t - 4 * a
    return np.where(t <= 1, inner, np.where(t < 2, outer, 0.0))


def triangle(t):
    return np.maximum(1 - np.abs(t), 0)


def summed(n, elements, weights):
    """A matrix with weights where its rows have elements; those outside count as the outermost."""
    rows = np.zeros((len(elements), n))
    for row, here, w in zip(rows, elements, weights):
        np.add.at(row, np.clip(here, 0, n - 1), w)
    return rows


def smoothed(n, out, scale, mode):
    """Each new element is a mean over all that it covers, where the image becomes smaller."""
    width = max(scale, 1.0)
    centre = (np.arange(out)[:, None] + 0.5) * scale
    apart = (np.arange(n) + 0.5 - centre) / width
    reach, weights = (
        (2.0, cubic(apart, SMOOTH_CUBIC)) if mode == "bicubic" else (1.0, triangle(apart))
    )
    first = (centre - reach * width + 0.5).astype(int)
    last = (centre + reach * width + 0.5).astype(int)
    place = np.arange(n)
    weights = np.where((place >= first) & (place < last), weights, 0.0)
    return weights / weights.sum(1, keepdims=True)


def resampled(n, out, mode, align, scale, antialias):
    j = np.arange(out)
    if mode == "area":
        ends = [(k * n // out, -(-(k + 1) * n // out)) for k in j]
        return np.array([[(b <= i < e) / (e - b) for i in range(n)] for b, e in ends])
    if antialias:
        return smoothed(n, out, scale, mode)
    if mode.startswith("nearest"):
        half = 0.5 if mode == "nearest-exact" else 0.0
        return summed(n, np.floor((j + half) * scale).astype(int)[:, None], np.ones((out, 1)))
    if align:
        source = j * ((n - 1) / (out - 1) if out > 1 else 0.0)
    else:
        source = (j + 0.5) * scale - 0.5
    if mode == "bicubic":
        base = np.floor(source)
        taps = base[:, None] + np.arange(-1, 3)
        return summed(n, taps.astype(int), cubic(source[:, None] - taps, CUBIC))
    source = np.maximum(source, 0)
    taps = np.floor(source)[:, None] + np.arange(2)
    return summed(n, taps.astype(int), triangle(source[:, None] - taps))


def interpolate(
    a,
    size=None,
    scale_factor=None,
    mode="nearest",
    align_corners=None,
    recompute_scale_factor=None,
    antialias=False,
):
    spatial = a.ndim - 2
    factors = [None] * spatial if scale_factor is None else each(scale_factor, spatial)
    for i, factor in enumerate(factors):
        n = a.shape[2 + i]
        out = each(size, spatial)[i] if factor is None else int(n * factor)
        scale = n / out if factor is None or recompute_scale_factor else 1 / factor
        matrix = resampled(n, out, mode, align_corners, scale, antialias)
        a = np.moveaxis(np.tensordot(a, matrix, (2 + i, 1)), -1, 2 + i)
    return a


def mirrored(v, low, high):
    """A place between two edges, reached by reflections at them."""
    if low == high:
        return 0.0
    rest = abs(v - low) % (2 * (high - low))
    return low + min(rest, 2 * (high - low) - rest)


def taps(coordinate, n, mode, padding_mode, align):
    """The elements around a coordinate from -1 to 1, and their weights."""
    v = (coordinate + 1) / 2 * (n - 1) if align else ((coordinate + 1) * n - 1) / 2

    def inside(v):
        if padding_mode == "reflection":
            v = mirrored(v, 0, n - 1) if align else mirrored(v, -0.5, n - 0.5)
        return v if padding_mode == "zeros" else min(max(v, 0), n - 1)

    if mode == "bicubic":
        near = [np.floor(v) + k for k in range(-1, 3)]
        return [(int(inside(e)), cubic(v - e, CUBIC)) for e in near]
    v = inside(v)
    if mode == "nearest":
        return [(int(np.rint(v)), 1.0)]
    base = np.floor(v)
    return [(int(base), 1 - (v - base)), (int(base) + 1, v - base)]


def grid_sample(a, grid, mode="bilinear", padding_mode="zeros", align_corners=False):
    spatial = a.ndim - 2
    y = np.zeros((*a.shape[:2], *grid.shape[1:-1]))
    for b, *place in np.ndindex(*grid.shape[:-1]):
        found = [  # the grid's last coordinate is of the first dimension
            taps(c, n, mode, padding_mode, align_corners)
            for c, n in zip(grid[(b, *place)][::-1], a.shape[2:])
        ]
        for corner in itertools.product(*found):
            element, weights = zip(*corner)
            if all(0 <= e < n for e, n in zip(element, a.shape[2:])):
                y[(b, slice(None), *place)] += a[(b, slice(None), *element)] * np.prod(weights)
    assert spatial == grid.shape[-1]
    return y


def affine_grid(theta, size, align_corners=False):
    lines = []
    for n in size[2:]:
        line = np.linspace(-1, 1, n) if n > 1 else np.zeros(n)
        lines.append(line if align_corners else line * (n - 1) / n)
    axes = np.meshgrid(*lines, indexing="ij")
    base = np.stack([*axes[::-1], np.ones(size[2:])], -1)
    return np.einsum("...j,nij->n...i", base, theta)


@batched
def im2col(a, n, kernel_size, dilation=1, padding=0, stride=1):
    kernel, dilation, padding, stride = (
        each(v, n) for v in (kernel_size, dilation, padding, stride)
    )
    a = padded(a, padding)
    size = [
        (length - d * (k - 1) - 1) // s + 1
        for length, k, d, s in zip(a.shape[2:], kernel, dilation, stride)
    ]
    parts = np.stack([at(a, p, stride, size, dilation) for p in places(kernel)], 2)
    return parts.reshape(a.shape[0], a.shape[1] * int(np.prod(kernel)), int(np.prod(size)))


def col2im(columns, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """The transpose of im2col: its matrix, by columns, is what im2col makes of unit images."""
    kernel = each(kernel_size, 2)
    count = int(np.prod(kernel))
    channels = columns.shape[-2] // count
    lead = columns.shape[:-2]
    units = np.eye(int(np.prod(output_size))).reshape(-1, 1, *output_size)
    options = dict(dilation=dilation, padding=padding, stride=stride)
    matrix = im2col(units, kernel, spatial=2, **options)
    flat = columns.reshape(*lead, channels, count, columns.shape[-1])
    return np.einsum("...cks,pks->...cp", flat, matrix).reshape(*lead, channels, *output_size)
