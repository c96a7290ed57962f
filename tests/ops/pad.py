"""Padding."""

import numpy as np

from tests.harness.table import ALL, op, x

MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def pad(a, pad, mode="constant", value=None):
    """Sizes from the last dimension backwards; negative ones cut off."""
    sizes = [(0, 0)] * (a.ndim - len(pad) // 2) + list(zip(pad[::2], pad[1::2]))[::-1]
    more = dict(constant_values=value or 0) if mode == "constant" else {}
    wide = np.pad(a, [(max(b, 0), max(e, 0)) for b, e in sizes], MODES[mode], **more)
    ends = [n - max(-e, 0) for n, (_, e) in zip(wide.shape, sizes)]
    return wide[tuple(slice(max(-b, 0), e) for (b, _), e in zip(sizes, ends))]


LINE, PLANE, SPACE = dict(pad=(2, 1)), dict(pad=(1, 2, 2, 0)), dict(pad=(1, 0, 2, 1, 0, 1))
op(
    "pad",
    ref=pad,
    samples=[x(2, 3, 4)],
    options=[
        LINE,
        dict(PLANE, value=1.5),
        dict(pad=(-1, 2, 1, -2), value=1.0),
        dict(pad=()),
        dict(LINE, mode="reflect"),
        dict(LINE, mode="replicate"),
        dict(LINE, mode="circular"),
    ],
    required=True,
    pairs=[((x(3, 4),), dict(LINE, mode=m)) for m in ("reflect", "replicate", "circular")]
    + [((x(2, 3, 4),), dict(PLANE, mode=m)) for m in ("reflect", "replicate", "circular")]
    + [((x(1, 2, 2, 3, 4),), dict(SPACE, mode=m)) for m in ("reflect", "replicate", "circular")]
    + [((x(1, 2, 3, 4),), SPACE), ((x(0, 3),), LINE), ((x(2, 0),), dict(pad=(1, 1), value=2.0))],
    big=[x(10, 60, 70)],
    refuses=[
        (x(2, 3), dict(pad=(1,)), "divisible by 2|even|multiple of 2"),
        (x(3), dict(pad=(1, 1, 1, 1)), "dimension"),
        (x(2, 3), dict(pad=(-2, -2)), "negative"),
        (x(2, 3, 4), dict(pad=(4, 0), mode="reflect"), "less than"),
        (x(2, 3, 4), dict(pad=(5, 0), mode="circular"), "wrap|more than once"),
        (x(2, 3, 4), dict(LINE, mode="reflect", value=1.0), "value"),
    ],
    dtypes=ALL,
    ulp=0,
    elementwise=False,
    view=None,
)
