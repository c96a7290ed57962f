"""Joining, parting, reversing and repeating."""

import numpy as np

from tests.harness.table import ALL, listed, op, x

EXACT = dict(dtypes=ALL, ulp=0, elementwise=False)
BIG = [(x(200, 300), x(200, 300))]
DIM = "[Dd]imension out of range"

op(
    "cat",
    ref=lambda *ts, dim=0: np.concatenate(ts, dim),
    samples=[(x(2, 3), x(2, 3), x(2, 3)), (x(2, 3),), (x(2, 3), x(2, 3))],
    options=[dict(dim=1), dict(dim=-2)],
    pairs=[
        ((x(0, 3), x(2, 3)), {}),
        ((x(2, 0), x(2, 3)), dict(dim=1)),
        ((x(2, 1, 3), x(2, 4, 3)), dict(dim=1)),
    ],
    arrange=listed,
    big=BIG,
    refuses=[
        ((x(2, 3), x(3, 3)), dict(dim=1), "[Ss]izes of tensors must match"),
        ((x(2, 3), x(2, 3)), dict(dim=2), DIM),
        ((x(), x()), {}, "zero-dimensional"),
    ],
    **EXACT,
)
op(
    "stack",
    ref=lambda *ts, dim=0: np.stack(ts, dim),
    samples=[(x(2, 3), x(2, 3), x(2, 3)), (x(2, 3),), (x(0, 3), x(0, 3))],
    options=[dict(dim=1), dict(dim=-1)],
    pairs=[((x(), x()), {})],
    arrange=listed,
    big=BIG,
    refuses=[
        ((x(2, 3), x(3, 3)), {}, "equal size"),
        ((x(2, 3), x(2, 3)), dict(dim=3), DIM),
    ],
    **EXACT,
)
for name, ref in [("hstack", np.hstack), ("vstack", np.vstack), ("dstack", np.dstack)]:
    op(
        name,
        ref=lambda *ts, ref=ref: ref(ts),
        samples=[(x(2, 3), x(2, 3)), (x(3), x(3)), (x(), x()), (x(2, 3, 2), x(2, 3, 2))],
        arrange=listed,
        big=BIG,
        refuses=[((x(2, 3), x(3, 2)), {}, "[Ss]izes of tensors must match")],
        **EXACT,
    )
op(
    "broadcast_tensors",
    ref=lambda *ts: np.broadcast_arrays(*ts),
    samples=[(x(3, 1), x(4), x()), (x(2, 3),), (x(0, 1), x(1, 3))],
    view=True,
    crosses=True,
    refuses=[((x(3), x(4)), {}, "broadcast|must match")],
    **EXACT,
)
op(
    "meshgrid",
    ref=lambda *ts, indexing="ij": np.meshgrid(*ts, indexing=indexing),
    samples=[(x(3), x(2)), (x(3), x(2), x(4)), (x(3), x(0))],
    options=[dict(indexing="xy")],
    pairs=[((x(3), x()), {})],
    view=True,
    refuses=[((x(3), x(2, 2)), {}, "0D or 1D|1-d")],
    **EXACT,
)


def parts(a, sizes, dim):
    return np.split(a, np.cumsum(sizes)[:-1], axis=dim)


def equal_parts(a, size, dim):
    n = a.shape[dim]
    return parts(a, [min(size, n - i) for i in range(0, n, size)] or [0], dim)


op(
    "split",
    ref=lambda a, split_size, dim=0: equal_parts(a, split_size, dim),
    samples=[x(5, 4), x(3, 4, 2)],
    options=[dict(split_size=2), dict(split_size=3, dim=-1), dict(split_size=9)],
    pairs=[(x(0, 3), dict(split_size=2))],
    required=True,
    arrange=lambda f, a, split_size, **o: f(a, split_size, **o),
    view=True,
    refuses=[
        (x(5), dict(split_size=0), "split_size"),
        (x(), dict(split_size=1), "at least a 1-dim"),
    ],
    **EXACT,
)
op(
    "split_with_sizes",
    ref=lambda a, split_sizes, dim=0: parts(a, split_sizes, dim),
    samples=[x(5, 5), x(5, 5, 2)],
    options=[dict(split_sizes=(1, 4)), dict(split_sizes=(2, 0, 3), dim=1)],
    required=True,
    arrange=lambda f, a, split_sizes, **o: f(a, split_sizes, **o),
    view=True,
    refuses=[(x(5), dict(split_sizes=(2, 2)), "sum|add up")],
    **EXACT,
)
op(
    "chunk",
    ref=lambda a, chunks, dim=0: equal_parts(a, max(-(-a.shape[dim] // chunks), 1), dim),
    samples=[x(5, 4), x(7, 4, 2)],
    options=[dict(chunks=2), dict(chunks=3, dim=-1), dict(chunks=9)],
    required=True,
    view=True,
    refuses=[(x(5), dict(chunks=0), "chunks")],
    **EXACT,
)
op(
    "unbind",
    ref=lambda a, dim=0: list(np.moveaxis(a, dim, 0)),
    samples=[x(3, 4), x(2, 3, 2), x(2, 0)],
    options=[dict(dim=0)],
    pairs=[(x(3, 4), dict(dim=-1))],
    required=True,
    view=True,
    refuses=[(x(3), dict(dim=1), DIM)],
    **EXACT,
)
op(
    "flip",
    ref=lambda a, dims: np.flip(a, dims),
    samples=[x(3, 4), x(2, 3, 2), x(0, 3)],
    options=[dict(dims=(0,)), dict(dims=(0, -1)), dict(dims=())],
    pairs=[(x(), dict(dims=()))],
    required=True,
    big=[x(300, 300)],
    refuses=[
        (x(3, 4), dict(dims=(2,)), DIM),
        (x(3, 4), dict(dims=(0, -2)), "multiple times|twice|unique|appears"),
    ],
    **EXACT,
)
for name, ref, least in [("fliplr", np.fliplr, 2), ("flipud", np.flipud, 1)]:
    op(
        name,
        ref=ref,
        samples=[x(3, 4), x(2, 3, 2), x(0, 3)],
        big=[x(300, 300)],
        refuses=[(x(*[3] * (least - 1)), {}, f"{least}-d|dimension")],
        **EXACT,
    )
op(
    "roll",
    ref=lambda a, shifts, dims=None: np.roll(a, shifts, dims),
    samples=[x(3, 4), x(2, 3, 2), x(0, 3)],
    options=[
        dict(shifts=2),
        dict(shifts=(-1,), dims=(1,)),
        dict(shifts=(1, 5), dims=(0, -1)),
    ],
    required=True,
    big=[x(300, 300)],
    refuses=[
        (x(3, 4), dict(shifts=(1, 2), dims=(0,)), "shifts"),
        (x(3, 4), dict(shifts=(1,), dims=(2,)), DIM),
    ],
    **EXACT,
)


def tile(a, dims):
    return np.tile(a, dims)


op(
    "repeat",
    ref=lambda a, repeats: tile(a, repeats),
    samples=[x(3, 4), x(4), x(0, 3)],
    options=[dict(repeats=(2, 3)), dict(repeats=(2, 1, 2)), dict(repeats=(0, 2))],
    pairs=[(x(), dict(repeats=(3,)))],
    required=True,
    arrange=lambda f, a, repeats: f(a, *repeats),
    big=[x(100, 300)],
    refuses=[
        (x(3, 4), dict(repeats=(2,)), "[Nn]umber of dimensions"),
        (x(3), dict(repeats=(-1,)), "negative"),
    ],
    **EXACT,
)
op(
    "tile",
    ref=tile,
    samples=[x(3, 4), x(2, 1, 4), x(0, 3)],
    options=[dict(dims=(2,)), dict(dims=(2, 3))],
    pairs=[(x(), dict(dims=(3,))), (x(4), dict(dims=(2, 1, 2)))],
    required=True,
    big=[x(100, 300)],
    refuses=[(x(3), dict(dims=(-1,)), "negative")],
    **EXACT,
)
op(
    "repeat_interleave",
    ref=lambda a, repeats, dim=None: np.repeat(a, repeats, dim),
    samples=[x(3, 4), x(2, 3, 2), x(0, 3)],
    options=[dict(repeats=2), dict(repeats=3, dim=-1), dict(repeats=0, dim=0)],
    pairs=[(x(), dict(repeats=2))],
    required=True,
    big=[x(100, 300)],
    refuses=[
        (x(3), dict(repeats=-1), "negative"),
        (x(3), dict(repeats=1, dim=1), DIM),
    ],
    **EXACT,
)
