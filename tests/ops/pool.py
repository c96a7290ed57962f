"""Pools."""

import functools

from tests.harness import windows
from tests.harness.table import NUMBERS, op, x

POOL = dict(elementwise=False, required=True)
FLOATING = {"int64": "not implemented for|floating"}
IMAGES = [x(2, 3, 6, 5), x(2, 5, 6)]
BIG = [x(4, 8, 40, 40)]
TOO_MUCH = "at most half|half of"

op(
    "max_pool2d",
    ref=functools.partial(windows.max_pool, spatial=2),
    samples=IMAGES,
    options=[
        dict(kernel_size=2),
        dict(kernel_size=(3, 2), stride=1, padding=1),
        dict(kernel_size=2, stride=(2, 3), dilation=2, ceil_mode=True),
    ],
    pairs=[(x(0, 2, 4, 4), dict(kernel_size=2))],
    big=BIG,
    refuses=[
        (x(2, 2, 2), dict(kernel_size=3), "does not fit"),
        (x(2, 4, 4), dict(kernel_size=2, padding=2), TOO_MUCH),
        (x(2, 4, 4), dict(kernel_size=0), "kernel"),
        (x(4, 4), dict(kernel_size=2), "[34]D|3-d"),
    ],
    dtypes=NUMBERS,
    ulp=0,
    second=False,
    bad={"bool": "not implemented for 'bool'"},
    **POOL,
)
op(
    "avg_pool2d",
    ref=functools.partial(windows.avg_pool, spatial=2),
    samples=IMAGES,
    options=[
        dict(kernel_size=2),
        dict(kernel_size=(3, 2), stride=1, padding=1),
        dict(kernel_size=3, stride=2, padding=1, count_include_pad=False),
        dict(kernel_size=(2, 3), stride=2, padding=1, ceil_mode=True),
        dict(kernel_size=2, divisor_override=3),
    ],
    pairs=[(x(0, 2, 4, 4), dict(kernel_size=2))],
    big=BIG,
    refuses=[
        (x(2, 2, 2), dict(kernel_size=3), "does not fit"),
        (x(2, 4, 4), dict(kernel_size=2, padding=2), TOO_MUCH),
        (x(2, 4, 4), dict(kernel_size=2, divisor_override=0), "divisor"),
    ],
    second=False,
    atol=1e-6,
    bad=FLOATING,
    **POOL,
)
op(
    "adaptive_avg_pool2d",
    ref=functools.partial(windows.adaptive_avg_pool, spatial=2),
    samples=IMAGES,
    options=[dict(output_size=1), dict(output_size=(3, 2)), dict(output_size=(7, 5))],
    pairs=[(x(0, 2, 4, 4), dict(output_size=2))],
    big=BIG,
    refuses=[
        (x(4, 4), dict(output_size=2), "[34]D|3-d"),
        (x(2, 4, 4), dict(output_size=-1), "-1|neg"),
    ],
    second=False,
    atol=1e-6,
    bad=FLOATING,
    **POOL,
)
