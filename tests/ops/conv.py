"""Convolutions."""

import functools

import numpy as np

from tests.harness import windows
from tests.harness.gen import api
from tests.harness.table import op, positive, x

CONV = dict(
    elementwise=False,
    ulp=4,
    atol=1e-5,
    bad={"int32": "not implemented for|floating|[Ee]xpected"},
)
CHANNELS = "channels|multiple of groups"

op(
    "conv1d",
    ref=functools.partial(windows.conv, spatial=1),
    samples=[(x(2, 2, 7), x(4, 2, 3), x(4)), (x(2, 2, 6), x(3, 2, 2))],
    options=[dict(stride=2, padding=1), dict(dilation=2)],
    pairs=[
        ((x(2, 6), x(3, 2, 2), x(3)), {}),
        ((x(2, 4, 6), x(6, 2, 3), x(6)), dict(groups=2, padding=2)),
        ((x(0, 2, 6), x(3, 2, 2)), {}),
        ((x(2, 2, 6), x(3, 2, 1)), dict(stride=3)),
    ],
    big=[(x(3, 8, 400), x(16, 8, 5), x(16))],
    refuses=[
        ((x(2, 3, 7), x(4, 2, 3)), {}, CHANNELS),
        ((x(2, 2, 2), x(4, 2, 3)), {}, "Kernel size can.t be greater"),
        ((x(2, 2, 7), x(4, 2, 3), x(3)), {}, "bias"),
        ((x(2, 2, 7), x(4, 2, 3)), dict(stride=0), "stride"),
        ((x(7), x(4, 2, 3)), {}, "2D|3D"),
    ],
    **CONV,
)
op(
    "conv2d",
    ref=functools.partial(windows.conv, spatial=2),
    samples=[(x(1, 2, 5, 4), x(4, 2, 3, 2), x(4)), (x(2, 2, 4, 4), x(3, 2, 2, 2))],
    options=[dict(stride=2, padding=(1, 0)), dict(dilation=(1, 2), padding=1)],
    pairs=[
        ((x(2, 4, 4), x(3, 2, 2, 2), x(3)), {}),
        ((x(1, 4, 4, 4), x(4, 1, 3, 3), x(4)), dict(groups=4, padding=1)),
        ((x(1, 4, 4, 4), x(6, 2, 2, 2)), dict(groups=2, stride=(2, 1))),
        ((x(0, 2, 4, 4), x(3, 2, 2, 2)), {}),
        ((x(1, 0, 4, 4), x(3, 0, 2, 2), x(3)), {}),
        ((x(1, 3, 3, 3), x(4, 3, 1, 1), x(4)), {}),
    ],
    big=[
        (x(2, 8, 30, 31), x(16, 8, 3, 3), x(16)),
        (x(1, 5, 40, 40), x(7, 5, 2, 2)),
    ],
    refuses=[
        ((x(1, 3, 5, 5), x(4, 2, 3, 3)), {}, CHANNELS),
        ((x(1, 2, 2, 2), x(4, 2, 3, 3)), {}, "Kernel size can.t be greater"),
        ((x(1, 2, 5, 5), x(4, 2, 3, 3), x(3)), {}, "bias"),
        ((x(1, 2, 5, 5), x(4, 2, 3, 3)), dict(padding=-1), "padding"),
        ((x(1, 4, 5, 5), x(4, 2, 3, 3)), dict(groups=3), "divisible|groups"),
    ],
    **CONV,
)
op(
    "conv_transpose2d",
    ref=functools.partial(windows.conv_transpose, spatial=2),
    samples=[(x(1, 2, 3, 2), x(2, 3, 2, 3), x(3)), (x(2, 2, 3, 3), x(2, 3, 2, 2))],
    options=[
        dict(stride=2, padding=1, output_padding=(1, 0)),
        dict(dilation=(2, 1), stride=(1, 3)),
    ],
    pairs=[
        ((x(2, 3, 3), x(2, 3, 2, 2)), {}),
        ((x(1, 4, 2, 3), x(4, 3, 2, 2), x(6)), dict(groups=2, stride=2)),
        ((x(0, 2, 3, 3), x(2, 3, 2, 2)), {}),
    ],
    big=[(x(2, 8, 20, 21), x(8, 6, 3, 3), x(6))],
    refuses=[
        ((x(1, 3, 5, 5), x(2, 4, 3, 3)), {}, CHANNELS),
        ((x(1, 2, 5, 5), x(2, 4, 3, 3)), dict(output_padding=1), "output padding"),
        ((x(1, 2, 5, 5), x(2, 4, 3, 3), x(3)), {}, "bias"),
        # As torch's own kernels: "Output size is too small".
        ((x(1, 2, 3, 1), x(2, 4, 2, 2)), dict(padding=1), "would have 0 elements"),
        ((x(1, 2, 3, 1), x(2, 4, 2, 2)), dict(padding=2), "would have 0|would have -2"),
    ],
    **CONV,
)
op(
    "conv3d",
    ref=functools.partial(windows.conv, spatial=3),
    samples=[(x(1, 2, 3, 4, 3), x(2, 2, 2, 3, 2), x(2)), (x(2, 1, 3, 3, 3), x(2, 1, 2, 2, 2))],
    options=[dict(stride=2, padding=(1, 1, 0)), dict(dilation=(1, 1, 2), padding=1)],
    pairs=[
        ((x(2, 3, 3, 3), x(3, 2, 2, 2, 2), x(3)), {}),
        ((x(1, 4, 2, 3, 3), x(2, 2, 2, 2, 2), x(2)), dict(groups=2, padding=1)),
        ((x(0, 2, 3, 3, 3), x(3, 2, 2, 2, 2)), {}),
    ],
    big=[(x(2, 4, 10, 11, 12), x(8, 4, 3, 3, 3), x(8))],
    refuses=[
        ((x(1, 3, 4, 4, 4), x(4, 2, 3, 3, 3)), {}, CHANNELS),
        ((x(1, 2, 4, 2, 4), x(4, 2, 3, 3, 3)), {}, "Kernel size can.t be greater"),
        ((x(1, 2, 4, 4, 4), x(4, 2, 3, 3, 3), x(3)), {}, "bias"),
        ((x(4, 4, 4), x(4, 2, 3, 3, 3)), {}, "4D|5D"),
    ],
    **CONV,
)
for n, (image, kernel, options) in {
    1: ((5,), (3,), [dict(stride=3, padding=1, output_padding=2), dict(dilation=2)]),
    3: (
        (2, 3, 2),
        (2, 2, 1),
        [dict(stride=2, padding=(1, 0, 0), output_padding=1), dict(dilation=(2, 1, 1))],
    ),
}.items():
    op(
        f"conv_transpose{n}d",
        ref=functools.partial(windows.conv_transpose, spatial=n),
        samples=[(x(1, 2, *image), x(2, 3, *kernel), x(3)), (x(2, 2, *image), x(2, 2, *kernel))],
        options=options,
        pairs=[
            ((x(2, *image), x(2, 3, *kernel)), {}),
            ((x(1, 4, *image), x(4, 1, *kernel), x(2)), dict(groups=2, stride=2)),
            ((x(0, 2, *image), x(2, 3, *kernel)), {}),
        ],
        big=[(x(2, 8, *[4 * s for s in image]), x(8, 6, *kernel), x(6))],
        refuses=[
            ((x(1, 3, *image), x(2, 4, *kernel)), {}, CHANNELS),
            ((x(1, 2, *image), x(2, 4, *kernel)), dict(output_padding=1), "output padding"),
            ((x(1, 2, *image), x(2, 4, *kernel), x(3)), {}, "bias"),
            ((x(1, 2, *[1] * n), x(2, 4, *[2] * n)), dict(padding=1), "would have 0 elements"),
        ],
        **CONV,
    )


def convolve_and_norm(a, w, *rest, normed=True, eps=1e-5, relu=False, **where):
    bias, (mean, var, weight, shift) = rest[0], rest[1:] if normed else (None,) * 4
    y = windows.conv(a, w, bias, spatial=2, **where)
    if a.ndim == 3:
        y = y.reshape(y.shape[-3:])
    if normed:
        channel = (-1, 1, 1)
        y = (y - mean.reshape(channel)) / np.sqrt(var.reshape(channel) + eps)
        y = y * weight.reshape(channel) + shift.reshape(channel)
    return np.maximum(y, 0) if relu else y


STATS = (x(4, grad=False), positive(4, grad=False), x(4), x(4))
op(
    "conv_norm",
    ref=convolve_and_norm,
    call=lambda *ts, normed=True, **options: api.conv_norm(*ts, **options),
    samples=[(x(2, 2, 5, 4), x(4, 2, 3, 2), x(4), *STATS)],
    options=[dict(stride=[2, 2], padding=[1, 0]), dict(eps=0.1, dilation=[1, 2])],
    pairs=[
        ((x(2, 4, 4, 4), x(4, 1, 3, 3), x(4), *STATS), dict(groups=4, padding=[1, 1])),
        ((x(2, 2, 4, 4), x(4, 2, 2, 2), x(4)), dict(normed=False)),
        ((x(2, 6, 5), x(4, 2, 3, 2), x(4), *STATS), {}),  # one image, as high as it has channels
        ((x(2, 8, 5), x(4, 2, 3, 2), x(4), *STATS), {}),
    ],
    big=[(x(2, 8, 30, 31), x(4, 8, 3, 3), x(4), *STATS)],
    refuses=[
        ((x(1, 3, 5, 5), x(4, 2, 3, 3), x(4), *STATS), {}, CHANNELS),
        ((x(1, 2, 5, 5), x(4, 2, 3, 3), x(4), x(3), positive(3)), {}, "running_mean|elements"),
        ((x(1, 2, 5, 5), x(4, 2, 3, 3), x(4), x(4)), {}, "running_var"),
    ],
    dtypes=("float32", "float64"),  # halves are rounded between the three
    **CONV,
)
