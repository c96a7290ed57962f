"""New tensors, fills, copies and conversions."""

import flambeau
import numpy as np

from tests.harness.gen import api
from tests.harness.table import ALL, FLOATS, INTS, NUMBERS, always, default_float, op, x

MADE = dict(creates=True, grad=False, elementwise=False, dtypes=ALL, ulp=0)
SIZES = [dict(size=(2, 3)), dict(size=()), dict(size=(0, 3))]
HUGE = dict(size=(300, 300))
NEGATIVE = [((), dict(size=(2, -1)), "negative")]

for name, ref in [("zeros", np.zeros), ("ones", np.ones)]:
    op(
        name,
        ref=lambda size, ref=ref: ref(size),
        options=[*SIZES, HUGE],
        required=True,
        refuses=NEGATIVE,
        **MADE,
    )
op(
    "full",
    ref=lambda size, fill_value: np.full(size, fill_value),
    options=[dict(o, fill_value=3) for o in (*SIZES, HUGE)] + [dict(size=(2,), fill_value=True)],
    required=True,
    refuses=[((), dict(size=(2, -1), fill_value=1), "negative")],
    **MADE,
)


def unset(make):
    """Shape and strides; values are not set, and become zeros."""

    def call(*like, **options):
        made = make(*like, **options)
        return made.zero_(), tuple(made.stride())

    return call


def contiguous_strides(shape):
    return tuple(int(np.prod([max(n, 1) for n in shape[i + 1 :]])) for i in range(len(shape)))


op(
    "empty",
    ref=lambda size: [np.zeros(size), contiguous_strides(size)],
    call=unset(flambeau.empty),
    options=SIZES,
    required=True,
    refuses=NEGATIVE,
    **MADE,
)
op(
    "empty_strided",
    ref=lambda size, stride: [np.zeros(size), stride],
    call=unset(flambeau.empty_strided),
    options=[dict(size=(2, 3), stride=(1, 2)), dict(size=(3,), stride=(4,))],
    required=True,
    refuses=[
        (
            (),
            dict(size=(2,), stride=(1, 2)),
            r"sizes \(1\) must match dimensionality of strides \(2\)",
        ),
        ((), dict(size=(2,), stride=(-1,)), "negative"),
    ],
    **MADE,
)
# A bare number promotes by its category only; alone it is a tensor that Python never shows.
for name, value, result in [
    ("scalar_f64", 2.5, default_float),
    ("scalar_i64", 3, lambda d: "int64" if d == "bool" else d),
    ("scalar_bool", True, None),
]:
    op(
        name,
        ref=lambda a, value: (a.astype(int) if a.dtype == bool else a) + value,
        call=lambda a, value, name=name: a + getattr(api, name)(value),
        samples=[x(3, 4), x(), x(0, 3)],
        options=[dict(value=value)],
        required=True,
        result=result,
        dtypes=ALL,
        ulp=1,
        elementwise=False,
    )

LIKE = dict(samples=[x(2, 3), x(), x(0, 3)], grad=False, elementwise=False, dtypes=ALL, ulp=0)


def empty_like(a, **options):
    """Dense, in whatever order of dimensions: as many places as elements."""
    made = flambeau.empty_like(a, **options)
    places = 1 + sum((n - 1) * s for n, s in zip(made.shape, made.stride()))
    return made.zero_(), places if made.numel() else 0


op(
    "empty_like",
    ref=lambda a: [np.zeros(a.shape), a.size],
    call=empty_like,
    **{**LIKE, "view": None},
)
for name, ref in [("zeros_like", np.zeros_like), ("ones_like", np.ones_like)]:
    op(name, ref=ref, big=[x(300, 300)], **LIKE)
op(
    "full_like",
    ref=lambda a, fill_value: np.full_like(a, fill_value),
    options=[dict(fill_value=2)],
    required=True,
    big=[x(300, 300)],
    refuses=[],
    **LIKE,
)


op(
    "arange",
    ref=lambda start, end, step=1: np.arange(start, end, step),
    call=flambeau.arange,
    options=[
        dict(start=0, end=5),
        dict(start=3, end=-2, step=-2),
        dict(start=2, end=2),
        dict(start=1, end=2, step=5),
    ],
    required=True,
    refuses=[
        ((), dict(start=0, end=3, step=0), "nonzero"),
        ((), dict(start=0, end=3, step=-1), "inconsistent"),
    ],
    **{**MADE, "dtypes": FLOATS + INTS[:4]},
)
op(
    "linspace",
    ref=lambda start, end, steps: np.linspace(start, end, steps),
    options=[
        dict(start=0, end=5, steps=4),
        dict(start=-1, end=1, steps=5),
        dict(start=3, end=3, steps=1),
        dict(start=0, end=1, steps=0),
        dict(start=-3, end=7, steps=40001),
    ],
    required=True,
    refuses=[((), dict(start=0, end=1, steps=-1), "non-negative")],
    **{**MADE, "ulp": 1, "atol": 1e-7, "dtypes": FLOATS + ("int64",)},
)
op(
    "logspace",
    ref=lambda start, end, steps, base=10: np.logspace(start, end, steps, base=base),
    options=[
        dict(start=0, end=3, steps=4),
        dict(start=-2, end=2, steps=5, base=2),
        dict(start=0, end=1, steps=0),
    ],
    required=True,
    refuses=[((), dict(start=0, end=1, steps=-1), "non-negative")],
    **{**MADE, "ulp": 3, "dtypes": FLOATS},
)
op(
    "eye",
    ref=lambda n, m=None: np.eye(n, m),
    options=[dict(n=3), dict(n=2, m=4), dict(n=3, m=1), dict(n=0), dict(n=300, m=200)],
    required=True,
    refuses=[((), dict(n=-1), "greater or equal to 0|negative")],
    **MADE,
)


def window(ref):
    """NumPy's windows are symmetric; a periodic one is longer by one, without its end."""

    def made(window_length, periodic=True, **options):
        if window_length < 2:
            return np.ones(window_length)
        return ref(window_length + periodic, **options)[:window_length]

    return made


def hamming(n, alpha=0.54, beta=0.46):
    return alpha - beta * np.cos(2 * np.pi * np.arange(n) / (n - 1))


def cosine(n):
    return np.sin(np.pi * (np.arange(n) + 0.5) / n)


def general_cosine(n, coefficients=(0.5, 0.25, 0.125, 0.5)):
    turns = 2 * np.pi * np.arange(n) / (n - 1)
    return sum((-1) ** k * a * np.cos(k * turns) for k, a in enumerate(coefficients))


def exponential(n, center=None, tau=1.0):
    return np.exp(-np.abs(np.arange(n) - ((n - 1) / 2 if center is None else center)) / tau)


def gaussian(n, std=1.0):
    return np.exp(-(((np.arange(n) - (n - 1) / 2) / std) ** 2) / 2)


for name, ref, more in [
    ("cosine_window", cosine, []),
    ("exponential_window", exponential, [dict(window_length=7, center=2.0, tau=3.0)]),
    ("gaussian_window", gaussian, [dict(window_length=7, std=2.5)]),
    ("hann_window", np.hanning, []),
    ("hamming_window", hamming, [dict(window_length=5, alpha=0.5, beta=0.25)]),
    ("blackman_window", np.blackman, []),
    ("bartlett_window", np.bartlett, []),
    ("kaiser_window", lambda n, beta=12.0: np.kaiser(n, beta), [dict(window_length=6, beta=3.0)]),
]:
    op(
        name,
        ref=window(ref),
        options=[dict(window_length=n) for n in (0, 1, 2, 9, 40_000)]
        + [dict(window_length=n, periodic=False) for n in (1, 2, 8)]
        + more,
        required=True,
        refuses=[((), dict(window_length=-1), "non-negative")],
        **{**MADE, "ulp": 1, "atol": 1e-7, "dtypes": FLOATS},
    )


op(
    "general_cosine_window",
    ref=window(general_cosine),
    options=[
        dict(window_length=n, coefficients=(0.5, 0.25, 0.125, 0.5), **more)
        for n in (0, 1, 2, 9)
        for more in ({}, dict(periodic=False))
    ]
    + [dict(window_length=5, coefficients=(2.0,)), dict(window_length=40_000, coefficients=(1, 2))],
    required=True,
    refuses=[
        ((), dict(window_length=-1, coefficients=(1.0,)), "non-negative"),
        ((), dict(window_length=3, coefficients=()), "cannot be empty"),
    ],
    **{**MADE, "ulp": 1, "atol": 1e-7, "dtypes": FLOATS},
)


for name, ref in [("tril", np.tril), ("triu", np.triu)]:
    op(
        name,
        ref=lambda a, diagonal=0, ref=ref: ref(a, diagonal),
        samples=[x(3, 4), x(2, 3, 3), x(0, 3)],
        options=[dict(diagonal=1), dict(diagonal=-1), dict(diagonal=9)],
        big=[x(300, 300)],
        refuses=[(x(3), {}, "at least 2 dimensions")],
        dtypes=ALL,
        ulp=0,
        elementwise=False,
    )

WRITE = dict(dtypes=ALL, ulp=0, elementwise=False)
op(
    "fill_",
    ref=lambda a, value: np.full_like(a, value),
    samples=[(x(3, 4), x()), (x(), x()), (x(0, 3), x())],
    big=[(x(300, 300), x())],
    refuses=[((x(2), x(2)), {}, "0-d")],
    **WRITE,
)
op(
    "zero_",
    ref=np.zeros_like,
    samples=[x(3, 4), x(), x(0, 3)],
    big=[x(300, 300)],
    **WRITE,
)


def source(dtype, *shape):
    return x(*shape, low=0, dtype=dtype)


op(
    "copy_",
    ref=lambda a, b: np.broadcast_to(b, a.shape),
    samples=[
        (x(3, 4), x(3, 4)),
        (x(3, 4), x(4)),
        (x(3, 4), x()),
        (x(), x()),
        (x(0, 3), x(3)),
        *[(x(3, 4), source(d, 3, 4)) for d in ("float32", "float64", "int64", "uint8", "bool")],
        *[(x(3, 4), source(d, 3, 4)) for d in ("float16", "bfloat16")],
    ],
    big=[(x(300, 300), x(300, 300))],
    crosses=True,
    refuses=[((x(2), x(3)), {}, "must match|broadcast|expand")],
    **{**WRITE, "ulp": 1},
)
op(
    "to",
    ref=lambda a: a.astype(np.float64),
    call=lambda a: a.to(flambeau.float64),
    samples=[x(3, 4), x(), x(0, 3)],
    result=always("float64"),
    view=None,
    big=[x(300, 300)],
    **WRITE,
)


def resized(a, size):
    """The elements that both shapes have, and zeros."""
    n = min(int(np.prod(size)), a.size)
    return np.concatenate([a.ravel()[:n], np.zeros(int(np.prod(size)) - n)]).reshape(size)


def resize(a, size):
    """Elements keep their places in memory, which are those of the rows only in dense operands."""
    a, n = a.contiguous(), a.numel()
    a.resize_(size)
    if a.numel() > n:
        a.view(-1)[n:] = 0
    return a


op(
    "resize_",
    ref=resized,
    call=resize,
    samples=[x(3, 4), x(), x(0, 3)],
    options=[dict(size=(2, 3)), dict(size=(4, 5)), dict(size=(0,)), dict(size=())],
    required=True,
    refuses=[(x(3), dict(size=(-1,)), "negative")],
    **{**WRITE, "dtypes": NUMBERS, "grad": False},
)
