"""Pools in one, two and three dimensions, and what puts greatest elements back."""

import functools

import numpy as np
from flambeau.nn import functional as F

from tests.harness import windows
from tests.harness.table import NUMBERS, op, positive, x

POOL = dict(elementwise=False, required=True, second=False)
FLOATING = {"int64": "not implemented for|floating"}
NO_BOOL = {"bool": "not implemented for 'bool'"}
TOO_MUCH = "at most half|half of"
SIGNALS = [x(2, 3, 7), x(2, 6)]
IMAGES = [x(2, 3, 6, 5), x(2, 5, 6)]
VOLUMES = [x(1, 2, 4, 5, 4), x(2, 4, 3, 5)]
# Dimensions: samples, a large one, and options with one number for each dimension.
SIZES = {
    1: (SIGNALS, [x(4, 30, 900)], (3,), (2,)),
    2: (IMAGES, [x(4, 8, 40, 40)], (3, 2), (2, 3)),
    3: (VOLUMES, [x(2, 4, 16, 20, 20)], (3, 2, 2), (1, 2, 3)),
}


def refused(n, size="kernel_size"):
    """Operands that are too small for a window, or have too few dimensions."""
    return [
        (x(2, *[2] * n), dict(kernel_size=3), "does not fit"),
        (x(*[4] * n), dict(kernel_size=2), f"{n + 1}-d|{n + 1}D|\\[{n + 1}{n + 2}\\]D"),
        (x(2, *[4] * n), dict(kernel_size=0), "kernel"),
    ]


def padded(n):
    return [(x(2, *[4] * n), dict(kernel_size=2, padding=2), TOO_MUCH)]


for n, (samples, big, kernel, stride) in SIZES.items():
    greatest = [
        dict(kernel_size=2),
        dict(kernel_size=kernel, stride=1, padding=1),
        dict(kernel_size=2, stride=stride, dilation=2 if n < 3 else (1, 2, 1), ceil_mode=True),
    ]
    empty = (x(0, 2, *[4] * n), dict(kernel_size=2))
    GREATEST = dict(
        samples=samples,
        options=greatest,
        pairs=[empty],
        big=big,
        refuses=refused(n) + padded(n),
        ulp=0,
        bad=NO_BOOL,
        **POOL,
    )
    op(
        f"max_pool{n}d",
        ref=functools.partial(windows.max_pool, spatial=n),
        dtypes=NUMBERS,
        **GREATEST,
    )
    op(
        f"max_pool{n}d_with_indices",
        ref=functools.partial(windows.max_pool_indices, spatial=n),
        **GREATEST,
    )
    op(
        f"avg_pool{n}d",
        ref=functools.partial(windows.avg_pool, spatial=n),
        samples=samples,
        options=[
            dict(kernel_size=2),
            dict(kernel_size=kernel, stride=1, padding=1),
            dict(kernel_size=3, stride=2, padding=1, count_include_pad=False),
            dict(kernel_size=2, stride=stride, padding=1, ceil_mode=True),
            *([dict(kernel_size=2, divisor_override=3)] if n > 1 else []),
        ],
        pairs=[empty],
        big=big,
        refuses=[
            *refused(n),
            *padded(n),
            *(
                [(x(2, *[4] * n), dict(kernel_size=2, divisor_override=0), "divisor")]
                if n > 1
                else []
            ),
        ],
        atol=1e-6,
        bad={"int32": "not implemented for"},
        **POOL,
    )
    output = dict(
        samples=samples,
        options=[
            dict(output_size=1),
            dict(output_size=kernel),
            dict(output_size=(7, 5, 3)[:n]),
        ],
        pairs=[(x(0, *c, *[4] * n), dict(output_size=2)) for c in ([2], [])],
        big=big,
        refuses=[
            (x(*[4] * n), dict(output_size=2), f"{n + 1}-d|{n + 1}D|\\[{n + 1}{n + 2}\\]D"),
            (x(2, *[4] * n), dict(output_size=-1), "-1|neg"),
        ],
        bad=FLOATING,
        **POOL,
    )
    op(
        f"adaptive_avg_pool{n}d",
        ref=functools.partial(windows.adaptive_avg_pool, spatial=n),
        atol=1e-6,
        **output,
    )
    op(
        f"adaptive_max_pool{n}d",
        ref=functools.partial(windows.adaptive_max_pool, spatial=n),
        ulp=0,
        **output,
    )
    op(
        f"lp_pool{n}d",
        ref=functools.partial(windows.lp_pool, spatial=n),
        samples=[positive(*s.shape) for s in samples],
        options=[
            dict(norm_type=2, kernel_size=2),
            dict(norm_type=3, kernel_size=kernel, stride=1),
            dict(norm_type=1, kernel_size=2, stride=stride, ceil_mode=True),
        ],
        pairs=[(x(2, *[5] * n), dict(norm_type=2.0, kernel_size=2))],
        big=[positive(*s.shape) for s in big],
        refuses=[(x(2, *[2] * n), dict(norm_type=2, kernel_size=3), "does not fit")],
        dtypes=("float32", "float64"),
        ulp=8,
        atol=1e-6,
        elementwise=False,
        required=True,
    )


def unpooled(a, indices, output_size):
    """Elements at their places in planes of zeros."""
    n = len(output_size)
    lead = a.shape[: a.ndim - n]
    y = np.zeros((*lead, int(np.prod(output_size))))
    flat = (*lead, int(np.prod(a.shape[len(lead) :])))
    np.put_along_axis(y, indices.reshape(flat), a.reshape(flat), -1)
    return y.reshape(*lead, *output_size)


for n, (plane, output, places) in {
    1: ((3,), (7,), (5, 0, 2)),
    2: ((2, 2), (4, 3), (1, 11, 6, 3)),
    3: ((1, 2, 2), (2, 3, 3), (1, 17, 6, 3)),
}.items():
    index = dict(dtype="int64", values=places)
    op(
        f"max_unpool{n}d",
        ref=unpooled,
        samples=[
            (x(2, 3, *plane), x(2, 3, *plane, **index)),
            (x(2, *plane), x(2, *plane, **index)),
        ],
        options=[dict(output_size=output)],
        pairs=[((x(0, 2, *plane), x(0, 2, *plane, **index)), dict(output_size=output))],
        big=[(x(90, 300, *plane), x(90, 300, *plane, **index))],
        refuses=[
            ((x(2, *plane), x(3, *plane, **index)), dict(output_size=output), "shape"),
            ((x(2, *plane), x(2, *plane)), dict(output_size=output), "int64"),
        ],
        refuses_values=[
            ((x(2, *plane), x(2, *plane, **index)), dict(output_size=[1] * n), "out of|[Ii]nvalid")
        ],
        ulp=0,
        **POOL,
    )


def fractional(a, samples, kernel_size, output_size):
    """Windows that begin where steps of (in - window) / (out - 1) do, from a drawn place on."""
    n = samples.shape[-1]
    if a.ndim == n + 1:
        values, at = fractional(a[None], samples, kernel_size, output_size)
        return values[0], at[0]
    plane = a.shape[2:]
    values = np.empty((*a.shape[:2], *output_size))
    places = np.empty(values.shape, np.int64)
    for image, channel in np.ndindex(*a.shape[:2]):
        drawn = samples[image, channel]
        starts = []
        for d, (size, out) in enumerate(zip(plane, output_size)):
            u = drawn[n - 1 - d if n == 2 else d]
            step = (size - kernel_size[d]) / (out - 1) if out > 1 else 0
            steps = [int((i + u) * step) - int(u * step) for i in range(out - 1)]
            starts.append([*steps, size - kernel_size[d]])
        for at in np.ndindex(*output_size):
            low = [starts[d][i] for d, i in enumerate(at)]
            cut = tuple(slice(b, b + k) for b, k in zip(low, kernel_size))
            window = a[image, channel][cut]
            best = np.unravel_index(window.argmax(), window.shape)
            values[image, channel][at] = window.max()
            places[image, channel][at] = np.ravel_multi_index(np.add(low, best), plane)
    return values, places


def drawn_windows(n):
    def call(a, samples, kernel_size, output_size):
        pool = F.fractional_max_pool2d if n == 2 else F.fractional_max_pool3d
        return pool(a, kernel_size, output_size, return_indices=True, _random_samples=samples)

    return call


for n, plane, window, out in ((2, (9, 7), (3, 2), (4, 3)), (3, (6, 5, 7), (2, 2, 3), (3, 2, 1))):
    drawn = dict(dtype="float64", grad=False, low=0.0, high=0.999)
    op(
        f"fractional_max_pool{n}d",
        ref=fractional,
        call=drawn_windows(n),
        samples=[
            (x(2, 3, *plane), x(2, 3, n, **drawn)),
            (x(3, *plane), x(1, 3, n, **drawn)),
        ],
        options=[dict(kernel_size=window, output_size=out)],
        big=[(x(30, 50, *plane), x(30, 50, n, **drawn))],
        refuses=[
            (
                (x(2, 3, *plane), x(2, 3, n, **drawn)),
                dict(kernel_size=window, output_size=plane),
                "too large",
            ),
            (
                (x(2, 3, *plane), x(1, 3, n, **drawn)),
                dict(kernel_size=window, output_size=out),
                "random samples",
            ),
        ],
        ulp=0,
        bad=FLOATING,
        crosses=False,
        **POOL,
    )
