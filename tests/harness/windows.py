"""NumPy references of what slides windows over images: convolutions and pools. The
rows are in tests/ops/conv.py and pool.py.
"""

import itertools

import numpy as np


def each(value, n):
    """One number per spatial dimension."""
    return tuple(value) if np.ndim(value) else (value,) * n


def batched(f):
    """A reference of batches for operands without a batch, too."""

    def ref(a, *rest, **options):
        n = options.pop("spatial")
        if a.ndim == n + 2:
            return f(a, n, *rest, **options)
        y = f(a[None], n, *rest, **options)
        return [part[0] for part in y] if isinstance(y, list) else y[0]

    return ref


def padded(a, padding, after=None, value=0.0):
    widths = [(0, 0), (0, 0), *zip(padding, after or padding)]
    return np.pad(a, widths, constant_values=value)


def at(a, place, stride, size, dilation):
    """What all windows have at one place of theirs."""
    return a[
        (slice(None), slice(None))
        + tuple(
            slice(p * d, p * d + s * (n - 1) + 1 if n else p * d, s)
            for p, s, n, d in zip(place, stride, size, dilation)
        )
    ]


def places(kernel):
    return itertools.product(*[range(k) for k in kernel])


def by_group(a, w, groups, product):
    cut = zip(np.split(a, groups, axis=1), np.split(w, groups, axis=0))
    return np.concatenate([product(x, y) for x, y in cut], axis=1)


def biased(y, b, n):
    return y if b is None else y + b.reshape((-1,) + (1,) * n)


@batched
def conv(a, n, w, b=None, stride=1, padding=0, dilation=1, groups=1):
    stride, padding, dilation = (each(v, n) for v in (stride, padding, dilation))
    a, kernel = padded(a, padding), w.shape[2:]
    size = [(a.shape[2 + i] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1 for i in range(n)]

    def product(x, f):
        return sum(
            np.einsum("nc...,oc->no...", at(x, p, stride, size, dilation), f[(..., *p)])
            for p in places(kernel)
        )

    return biased(by_group(a, w, groups, product), b, n)


@batched
def conv_transpose(a, n, w, b=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    stride, padding, extra, dilation = (
        each(v, n) for v in (stride, padding, output_padding, dilation)
    )
    kernel, size = w.shape[2:], a.shape[2:]
    full = [(size[i] - 1) * stride[i] + dilation[i] * (kernel[i] - 1) + 1 for i in range(n)]

    def product(x, f):
        room = [s + e for s, e in zip(full, extra)]
        y = np.zeros((x.shape[0], f.shape[1], *room))
        for p in places(kernel):
            at(y, p, stride, size, dilation)[...] += np.einsum("nc...,co->no...", x, f[(..., *p)])
        return y

    y = by_group(a, w, groups, product)
    inside = tuple(slice(p, f - p + e) for p, f, e in zip(padding, full, extra))
    return biased(y[(slice(None), slice(None), *inside)], b, n)


def windows(length, kernel, stride, padding, dilation, ceil_mode):
    """How many windows a dimension has, and what they reach over its padded end."""
    room = length + 2 * padding - dilation * (kernel - 1) - 1
    n = (-(-room // stride) if ceil_mode else room // stride) + 1
    if ceil_mode and (n - 1) * stride >= length + padding:
        n -= 1  # no window starts in the padding at the end
    return n, max((n - 1) * stride + dilation * (kernel - 1) + 1 - length - 2 * padding, 0)


def pooled(a, n, kernel, stride, padding, dilation, ceil_mode, outside):
    """The elements of all windows, in a new first dimension."""
    stride = kernel if stride is None else stride
    kernel, stride, padding, dilation = (each(v, n) for v in (kernel, stride, padding, dilation))
    found = [
        windows(a.shape[2 + i], kernel[i], stride[i], padding[i], dilation[i], ceil_mode)
        for i in range(n)
    ]
    size, over = zip(*found)
    a = padded(a.astype(float), padding, [p + o for p, o in zip(padding, over)], outside)
    return np.stack([at(a, p, stride, size, dilation) for p in places(kernel)])


@batched
def max_pool(a, n, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
    return pooled(a, n, kernel_size, stride, padding, dilation, ceil_mode, -np.inf).max(0)


@batched
def max_pool_indices(a, n, kernel_size, **options):
    """The greatest elements, and where they are in their plane."""
    shape = (1,) * (a.ndim - n) + a.shape[a.ndim - n :]
    plane = np.broadcast_to(np.arange(np.prod(a.shape[a.ndim - n :])).reshape(shape), a.shape)
    found = [
        pooled(v, n, kernel_size, *with_defaults(options), outside)
        for v, outside in ((a, -np.inf), (plane, -1))
    ]
    best = found[0].argmax(0)[None]
    return [np.take_along_axis(f, best, 0)[0].astype(v.dtype) for f, v in zip(found, (a, plane))]


def with_defaults(options):
    return [
        options.get(k, v)
        for k, v in dict(stride=None, padding=0, dilation=1, ceil_mode=False).items()
    ]


@batched
def lp_pool(a, n, norm_type, kernel_size, stride=None, ceil_mode=False):
    """From averages, which count those elements only that a window at the end has."""
    mean = avg_pool(a**norm_type, kernel_size, stride, ceil_mode=ceil_mode, spatial=n)
    return np.maximum(mean * np.prod(each(kernel_size, n)), 0) ** (1 / norm_type)


@batched
def avg_pool(
    a,
    n,
    kernel_size,
    stride=None,
    padding=0,
    ceil_mode=False,
    count_include_pad=True,
    divisor_override=None,
):
    def sums(values, outside):
        return pooled(values, n, kernel_size, stride, padding, 1, ceil_mode, outside).sum(0)

    total = sums(a, 0.0)
    if divisor_override is not None:
        return total / divisor_override
    inside = np.ones_like(a)
    if count_include_pad:  # what ceil_mode adds behind the padding never counts
        wide = padded(inside, each(padding, n), value=1.0)
        return total / pooled_counts(wide, a, n, kernel_size, stride, padding, ceil_mode)
    return total / sums(inside, 0.0)


def pooled_counts(wide, a, n, kernel, stride, padding, ceil_mode):
    stride = kernel if stride is None else stride
    found = [
        windows(length, k, s, p, 1, ceil_mode)
        for length, k, s, p in zip(a.shape[2:], *[each(v, n) for v in (kernel, stride, padding)])
    ]
    size, over = zip(*found)
    wide = padded(wide, (0,) * n, over)
    kernel, stride = each(kernel, n), each(stride, n)
    return sum(at(wide, p, stride, size, (1,) * n) for p in places(kernel))


def adaptive_windows(a, n, output_size):
    """Each place of the result with its window: a slice for each of the spatial dimensions."""
    size = each(output_size, n)
    for place in np.ndindex(*size):
        yield (
            place,
            tuple(
                slice(j * length // out, -(-(j + 1) * length // out))
                for j, out, length in zip(place, size, a.shape[2:])
            ),
        )


@batched
def adaptive_avg_pool(a, n, output_size):
    y = np.zeros((*a.shape[:2], *each(output_size, n)))
    for place, window in adaptive_windows(a, n, output_size):
        y[(..., *place)] = a[(..., *window)].mean(axis=tuple(range(2, 2 + n)))
    return y


@batched
def adaptive_max_pool(a, n, output_size):
    """The greatest elements, and where they are in their plane."""
    y = np.zeros((*a.shape[:2], *each(output_size, n)))
    at = np.zeros(y.shape, np.int64)
    plane = np.arange(np.prod(a.shape[2:])).reshape(a.shape[2:])
    for place, window in adaptive_windows(a, n, output_size):
        part = a[(..., *window)]
        values = part.reshape(*a.shape[:2], np.prod(part.shape[2:]))
        best = values.argmax(-1)
        y[(..., *place)] = np.take_along_axis(values, best[..., None], -1)[..., 0]
        at[(..., *place)] = plane[window].ravel()[best]
    return [y, at]
