"""Tables of vectors beyond plain lookup."""

import numpy as np

from tests.harness.table import op, positive, x

KW = dict(elementwise=False, ulp=4, atol={"float16": 2e-2, "bfloat16": 0.15})
FOLD = {"sum": np.sum, "mean": np.mean, "max": np.max}


def indices(*shape, values=(1, 2, 4, 0, 2, 1, 3)):
    return x(*shape, dtype="int64", values=values)


def starts(*values):
    return x(len(values), dtype="int64", values=values)


def arranged(f, at, table, *rest, given=(), **options):
    return f(at, table, **dict(zip(given, rest)), **options)


def bags_of(at, offsets, include_last_offset):
    """Positions in the flat input, bag by bag."""
    if offsets is None:
        return np.arange(at.size).reshape(at.shape)
    ends = offsets[1:] if include_last_offset else [*offsets[1:], at.size]
    return [np.arange(s, e) for s, e in zip(offsets, ends)]


def embedding_bag(at, table, *rest, given=(), mode="mean", include_last_offset=False, **options):
    more = dict(zip(given, rest))
    padding = options.get("padding_idx")
    padding = None if padding is None else padding % len(table)
    factors = more.get("per_sample_weights", np.ones(at.shape)).ravel()
    flat, y = at.ravel(), []
    for bag in bags_of(at, more.get("offsets"), include_last_offset):
        bag = [i for i in bag if flat[i] != padding]
        vectors = table[flat[bag]] * factors[bag][:, None]
        y.append(FOLD[mode](vectors, axis=0) if len(bag) else np.zeros(table.shape[1]))
    return np.array(y).reshape(-1, table.shape[1])


OFFSETS, WEIGHTED = dict(given=("offsets",)), dict(given=("per_sample_weights",), mode="sum")
MODES = [dict(mode=m) for m in FOLD]
RAGGED = (indices(7), x(5, 3), starts(0, 2, 2, 5))
op(
    "embedding_bag",
    ref=embedding_bag,
    arrange=arranged,
    samples=[(indices(2, 3), x(5, 3))],
    options=[*MODES, *[dict(o, padding_idx=2) for o in MODES], dict(padding_idx=-1)],
    pairs=[
        *[(RAGGED, dict(OFFSETS, **o)) for o in MODES],
        *[(RAGGED, dict(OFFSETS, padding_idx=2, **o)) for o in MODES],
        ((indices(7), x(5, 3), starts(0, 3, 7)), dict(OFFSETS, include_last_offset=True)),
        ((indices(2, 3), x(5, 3), x(2, 3)), WEIGHTED),
        (
            (indices(4), x(5, 3), starts(0, 3), x(4)),
            dict(given=("offsets", "per_sample_weights"), mode="sum"),
        ),
        ((indices(0), x(5, 3), starts(0, 0)), OFFSETS),
        ((indices(0, 3), x(5, 3)), {}),
        ((indices(3, 0), x(5, 3)), {}),
    ],
    big=[(x(600, 40, dtype="int64", low=0, high=80), x(90, 30))],
    refuses=[
        ((indices(7), x(5, 3)), {}, "offsets has to be a 1D"),
        ((indices(2, 3), x(5, 3), starts(0, 2)), OFFSETS, "2D, then offsets has to be None"),
        ((indices(2, 3), x(5, 3), x(2, 3)), dict(WEIGHTED, mode="mean"), "only supported for"),
        ((indices(2, 3), x(5, 3), x(3, 2)), WEIGHTED, "same shape as the input"),
        ((indices(7), x(5, 3), starts(1, 2)), OFFSETS, "start at 0"),
        ((indices(2, 2, 2), x(5, 3)), {}, "1D or 2D"),
        ((indices(2, 3), x(5, 3)), dict(padding_idx=5), "padding_idx must be within"),
    ],
    refuses_values=[((indices(2, 3, values=(0, 5)), x(5, 3)), {}, "out of bounds")],
    **KW,
)


def renormed(table, at, max_norm, norm_type=2.0):
    size = (np.abs(table) ** norm_type).sum(1) ** (1 / norm_type)
    scale = np.where(size > max_norm, max_norm / (size + 1e-7), 1.0)
    seen = np.isin(np.arange(len(table)), at)
    return table * np.where(seen, scale, 1.0)[:, None]


op(
    "embedding_renorm_",
    ref=renormed,
    samples=[(x(5, 3), indices(4)), (x(5, 3), indices(2, 3)), (positive(5, 3), indices(0))],
    options=[dict(max_norm=1.5), dict(max_norm=2.0, norm_type=1.0), dict(max_norm=99.0)],
    required=True,
    big=[(x(300, 300), x(900, dtype="int64", low=0, high=290))],
    grad=False,
    refuses=[((x(5), indices(4)), dict(max_norm=1.0), "2-D")],
    refuses_values=[((x(5, 3), indices(2, values=(0, 5))), dict(max_norm=1.0), "out of bounds")],
    **KW,
)
