"""Resampling and rearranging images."""

import functools

import flambeau

from tests.harness import images
from tests.harness.table import ALL, FLOATS, op, unit, x

KW = dict(elementwise=False, required=True, dtypes=FLOATS[:2], ulp=8, atol=1e-5)
IMAGE = x(1, 2, 5, 4)
SMALLER, WIDER, FACTORS = dict(size=(3, 7)), dict(size=(8, 3)), dict(scale_factor=(1.7, 0.6))


def modes(sizes, *names, **more):
    return [dict(s, mode=name, **more) for name in names for s in sizes]


op(
    "interpolate",
    ref=images.interpolate,
    call=flambeau.nn.functional.interpolate,
    samples=[IMAGE],
    options=[
        *modes([SMALLER, FACTORS], "nearest", "nearest-exact", "area", "bilinear", "bicubic"),
        *modes([SMALLER, FACTORS], "bilinear", "bicubic", align_corners=True),
        *modes([SMALLER, WIDER], "bilinear", "bicubic", antialias=True),
        dict(FACTORS, mode="bilinear", recompute_scale_factor=True),
    ],
    pairs=[
        (x(2, 3, 5), dict(scale_factor=2, mode="linear")),
        (x(2, 3, 5), dict(size=3, mode="nearest")),
        (x(2, 3, 1), dict(size=4, mode="linear", align_corners=True)),
        (x(1, 2, 2, 3, 2), dict(size=(3, 2, 4), mode="trilinear")),
        (x(1, 1, 2, 3, 2), dict(size=(3, 2, 4), mode="nearest")),
        (x(1, 1, 2, 3, 2), dict(scale_factor=2.0, mode="area")),
        (x(0, 2, 4, 3), dict(SMALLER, mode="bilinear")),
    ],
    big=[x(2, 8, 60, 50)],
    refuses=[
        (x(2, 3), dict(size=3), "3D, 4D|3D, 4D and 5D|dimensions"),
        (IMAGE, dict(size=(3, 4), mode="linear"), "linear|4D"),
        (IMAGE, dict(size=(3, 4, 5)), "size"),
        (IMAGE, dict(size=(0, 4)), "greater than 0"),
        (x(1, 1, 4), dict(size=3, mode="bicubic"), "bicubic|3D"),
    ],
    **KW,
)
GRIDS = [
    dict(mode=m, padding_mode=p, align_corners=a)
    for m in ("bilinear", "nearest", "bicubic")
    for p in ("zeros", "border", "reflection")
    for a in (False, True)
]
PLACES = unit(2, 3, 2, 2, low=-1.4, high=1.4)
op(
    "grid_sample",
    ref=images.grid_sample,
    samples=[(x(2, 2, 3, 4), PLACES)],
    options=GRIDS,
    pairs=[
        ((x(1, 2, 2, 3, 2), unit(1, 2, 2, 1, 3, low=-1.4, high=1.4)), o)
        for o in GRIDS
        if o["mode"] != "bicubic"
    ]
    + [((x(0, 2, 3, 4), unit(0, 3, 2, 2)), dict(align_corners=False))],
    big=[(x(2, 8, 30, 30), unit(2, 50, 50, 2, low=-1.4, high=1.4))],
    refuses=[
        ((x(2, 2, 3), unit(2, 2, 1)), {}, "4D or 5D"),
        ((x(2, 2, 3, 4), unit(1, 3, 2, 2)), {}, "batch size"),
        ((x(2, 2, 3, 4), unit(2, 3, 2, 3)), {}, "last dimension"),
        ((x(2, 2, 3, 4), unit(2, 3, 2, 2, dtype="float64")), {}, "same dtype"),
    ],
    **KW,
)
op(
    "affine_grid",
    ref=images.affine_grid,
    samples=[x(2, 2, 3)],
    options=[dict(size=(2, 1, 3, 4)), dict(size=(2, 1, 1, 3), align_corners=True)],
    pairs=[
        (x(2, 3, 4), dict(size=(2, 1, 2, 3, 2))),
        (x(2, 3, 4), dict(size=(2, 1, 2, 3, 2), align_corners=True)),
    ],
    refuses=[
        (x(2, 2, 3), dict(size=(2, 3, 4)), "4D and 5D"),
        (x(2, 2, 3), dict(size=(3, 1, 3, 4)), "batch"),
        (x(2, 2, 3), dict(size=(2, 1, 3, 0)), "positive output size"),
    ],
    bad={"int64": "floating"},
    big=[x(2, 2, 3)],
    **KW,
)


def pixel_shuffle(a, upscale_factor):
    r = upscale_factor
    *lead, c, h, w = a.shape
    y = a.reshape(*lead, c // (r * r), r, r, h, w)
    k = len(lead)
    order = [*range(k + 1), k + 3, k + 1, k + 4, k + 2]
    return y.transpose(order).reshape(*lead, c // (r * r), h * r, w * r)


def pixel_unshuffle(a, downscale_factor):
    r = downscale_factor
    *lead, c, h, w = a.shape
    y = a.reshape(*lead, c, h // r, r, w // r, r)
    k = len(lead)
    order = [*range(k + 1), k + 2, k + 4, k + 1, k + 3]
    return y.transpose(order).reshape(*lead, c * r * r, h // r, w // r)


def channel_shuffle(a, groups):
    n, c, *rest = a.shape
    return a.reshape(n, groups, c // groups, *rest).swapaxes(1, 2).reshape(a.shape)


EXACT = dict(elementwise=False, required=True, dtypes=ALL, ulp=0, view=None)
op(
    "pixel_shuffle",
    ref=pixel_shuffle,
    samples=[x(2, 8, 3, 2), x(4, 2, 3), x(1, 2, 4, 2, 2)],
    options=[dict(upscale_factor=2), dict(upscale_factor=1)],
    pairs=[(x(1, 9, 2, 1), dict(upscale_factor=3)), (x(0, 4, 2, 3), dict(upscale_factor=2))],
    big=[x(2, 16, 60, 50)],
    refuses=[
        (x(2, 3, 4, 4), dict(upscale_factor=2), "divisible by the square"),
        (x(4, 4), dict(upscale_factor=2), "at least 3 dim"),
        (x(4, 4, 4), dict(upscale_factor=0), "positive"),
    ],
    **EXACT,
)
op(
    "pixel_unshuffle",
    ref=pixel_unshuffle,
    samples=[x(2, 2, 4, 6), x(2, 2, 4), x(1, 2, 1, 4, 2)],
    options=[dict(downscale_factor=2), dict(downscale_factor=1)],
    pairs=[(x(1, 2, 3, 6), dict(downscale_factor=3)), (x(0, 1, 2, 4), dict(downscale_factor=2))],
    big=[x(2, 4, 120, 100)],
    refuses=[
        (x(2, 2, 3, 4), dict(downscale_factor=2), "divisible by"),
        (x(4, 4), dict(downscale_factor=2), "at least 3 dim"),
        (x(4, 4, 4), dict(downscale_factor=0), "positive"),
    ],
    **EXACT,
)
op(
    "channel_shuffle",
    ref=channel_shuffle,
    samples=[x(2, 6, 3), x(1, 6, 2, 2)],
    options=[dict(groups=2), dict(groups=3), dict(groups=1)],
    pairs=[(x(0, 4, 2, 3), dict(groups=2))],
    big=[x(2, 6, 120, 100)],
    refuses=[
        (x(2, 6, 3), dict(groups=4), "divisible by groups"),
        (x(4, 4), dict(groups=2), "> 2 dims|at least 3"),
        (x(2, 6, 3), dict(groups=0), "greater than|positive|divisible"),
    ],
    **EXACT,
)
WINDOWS = [
    dict(kernel_size=(3, 2)),
    dict(kernel_size=2, padding=1, stride=(2, 1)),
    dict(kernel_size=2, dilation=(2, 1), stride=2),
]
op(
    "im2col",
    ref=functools.partial(images.im2col, spatial=2),
    samples=[x(2, 3, 4, 5), x(2, 4, 5)],
    options=WINDOWS,
    pairs=[(x(0, 2, 4, 5), WINDOWS[0])],
    big=[x(2, 8, 40, 41)],
    refuses=[
        (x(1, 2, 2, 2), dict(kernel_size=3), "positive|too small|shape of the array"),
        (x(4, 5), WINDOWS[0], "3D or 4D"),
        (x(1, 2, 4, 5), dict(kernel_size=0), "kernel"),
    ],
    **{**KW, "dtypes": FLOATS, "ulp": 0, "atol": 0.0},
)
op(
    "col2im",
    ref=images.col2im,
    samples=[x(2, 8, 12), x(4, 12)],
    options=[
        dict(output_size=(4, 5), kernel_size=2),
        dict(output_size=(6, 4), kernel_size=2, padding=(1, 0), stride=(2, 1)),
    ],
    pairs=[(x(0, 8, 12), dict(output_size=(4, 5), kernel_size=2))],
    refuses=[
        (x(2, 7, 12), dict(output_size=(4, 5), kernel_size=2), "divisible"),
        (x(2, 8, 11), dict(output_size=(4, 5), kernel_size=2), "sliding blocks|12"),
        (x(12), dict(output_size=(4, 5), kernel_size=2), "2D or 3D"),
    ],
    big=[x(400, 8, 12)],
    **{**KW, "dtypes": FLOATS, "atol": {"float16": 1e-2, "bfloat16": 6e-2}},
)
