"""Turned, combined, cut and replaced parts."""

import itertools

import flambeau
import numpy as np

from tests.harness.table import ALL, listed, op, x

EXACT = dict(dtypes=ALL, ulp=0, elementwise=False)
VIEW = dict(**EXACT, view=True, required=True)

op(
    "rot90",
    ref=lambda a, k=1, dims=(0, 1): np.rot90(a, k, dims),
    samples=[x(2, 3), x(2, 3, 4)],
    options=[dict(k=2), dict(k=-1), dict(k=4), dict(k=3, dims=(1, 0))],
    refuses=[(x(3), {}, "total dims >= 2"), (x(3, 3), dict(dims=(0, 0)), "to be different")],
    **EXACT,
)


def rows(chosen, like, width):
    return np.array(list(chosen), like.dtype).reshape(-1, width)


op(
    "cartesian_prod",
    ref=lambda *ts: rows(itertools.product(*ts), ts[0], len(ts)),
    samples=[(x(3), x(2)), (x(2), x(3), x(2)), (x(2), x(0))],
    big=[(x(200), x(300))],
    refuses=[((x(2, 2), x(2)), {}, "1D vector")],
    **EXACT,
)


def combinations(a, r=2, with_replacement=False):
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    return rows(choose(a, r), a, r)


op(
    "combinations",
    ref=combinations,
    samples=[x(5)],
    options=[dict(r=3, with_replacement=True), dict(r=1)],
    big=[x(80)],
    refuses=[(x(2, 2), {}, "1D vector"), (x(3), dict(r=-1), "non-negative")],
    **EXACT,
)
op(
    "column_stack",
    ref=lambda *ts: np.column_stack(ts),
    samples=[(x(3), x(3, 2), x(3)), (x(3),), (x(2, 2), x(2, 3))],
    arrange=listed,
    big=[(x(20_000), x(20_000, 2))],
    refuses=[((x(3), x(2)), {}, "[Ss]izes of tensors must match")],
    **EXACT,
)
op(
    "tensor_split",
    ref=lambda a, sections, dim=0: np.array_split(a, sections, dim),
    samples=[x(7, 4), x(3, 5, 2)],
    options=[dict(sections=3), dict(sections=2, dim=-1), dict(sections=9)],
    refuses=[(x(3), dict(sections=0), "larger than 0"), (x(), dict(sections=1), "0 dims")],
    **VIEW,
)
op(
    "tensor_split_at",
    ref=lambda a, indices, dim=0: np.array_split(a, indices, dim),
    samples=[x(7, 4), x(3, 5, 2)],
    options=[dict(indices=(1, 3)), dict(indices=(2, -1), dim=1), dict(indices=(2, 9))],
    refuses=[(x(), dict(indices=(1,)), "0 dims")],
    **VIEW,
)
SPLITS = [
    ("hsplit", np.hsplit, [x(3, 4), x(4), x(2, 4, 2)], x(), "at least 1 dimension"),
    ("vsplit", np.vsplit, [x(4, 3), x(4, 2, 2)], x(4), "at least 2 dimensions"),
    ("dsplit", np.dsplit, [x(2, 3, 4), x(1, 2, 4, 2)], x(4, 4), "at least 3 dimensions"),
]
for name, ref, samples, short, text in SPLITS:
    op(
        name,
        ref=lambda a, sections, ref=ref: ref(a, sections),
        samples=samples,
        options=[dict(sections=2), dict(sections=4)],
        refuses=[
            (short, dict(sections=2), text),
            (samples[0], dict(sections=3), "not divisible"),
        ],
        **VIEW,
    )
    op(
        name + "_at",
        ref=lambda a, indices, ref=ref: ref(a, indices),
        samples=samples,
        options=[dict(indices=(1, 3)), dict(indices=(2,))],
        refuses=[(short, dict(indices=(1,)), text)],
        **VIEW,
    )


def replaced(place):
    """A copy of the operand with a part, named by options, replaced."""

    def ref(a, src, **o):
        y = a.copy()
        place(y, src, **o)
        return y

    return ref


def select(y, src, dim, index):
    np.moveaxis(y, dim, 0)[index] = src


def cut(y, src, dim=0, start=None, end=None, step=1):
    np.moveaxis(y, dim, 0)[start:end:step] = np.moveaxis(src, dim, 0)


def diagonal(y, src, offset=0):
    at = np.arange(len(src))
    y[at + max(-offset, 0), at + max(offset, 0)] = src


op(
    "select_scatter",
    ref=replaced(select),
    samples=[(x(3, 4), x(3))],
    options=[dict(dim=1, index=2), dict(dim=-1, index=-1)],
    pairs=[((x(3, 4), x(4)), dict(dim=0, index=0))],
    required=True,
    big=[(x(20_000, 4), x(20_000))],
    refuses=[((x(3, 4), x(2)), dict(dim=1, index=0), "expected src to have a size equal")],
    **EXACT,
)
op(
    "slice_scatter",
    ref=replaced(cut),
    samples=[(x(6, 4), x(2, 4))],
    options=[dict(start=4), dict(start=1, end=5, step=2), dict(start=-3, end=-1)],
    pairs=[((x(2, 5), x(2, 3)), dict(dim=1, end=3))],
    required=True,
    big=[(x(6, 30_000), x(2, 30_000))],
    refuses=[((x(6, 4), x(3, 4)), dict(end=2), "expected src to have a size equal")],
    **EXACT,
)
op(
    "diagonal_scatter",
    ref=replaced(diagonal),
    samples=[(x(3, 4), x(3))],
    options=[dict(offset=1)],
    pairs=[((x(3, 4), x(2)), dict(offset=-1))],
    big=[(x(300, 301), x(300))],
    refuses=[((x(3, 4), x(2)), {}, "expected src to have a size equal")],
    **EXACT,
)


def strided(a, src, size, stride, storage_offset=0):
    y = a.copy().ravel()
    for at in np.ndindex(*size):
        y[storage_offset + sum(i * s for i, s in zip(at, stride))] = src[at]
    return y.reshape(a.shape)


op(
    "as_strided_scatter",
    ref=strided,
    samples=[(x(3, 4), x(2, 3))],
    options=[
        dict(size=(2, 3), stride=(4, 1)),
        dict(size=(2, 3), stride=(1, 3), storage_offset=2),
    ],
    required=True,
    call=lambda a, src, **o: flambeau.as_strided_scatter(a.contiguous(), src, **o),
    big=[(x(300, 300), x(2, 3))],
    refuses=[
        ((x(3, 4), x(2, 2)), dict(size=(2, 3), stride=(4, 1)), "size equal to the slice"),
        ((x(3, 4), x(2, 3)), dict(size=(2, 3), stride=(9, 4)), "outside"),
    ],
    **EXACT,
)
JOINED = {
    "sum": np.add,
    "prod": np.multiply,
    "amax": np.maximum,
    "amin": np.minimum,
    "mean": np.add,
}
START = {"sum": 0.0, "prod": 1.0, "amax": -np.inf, "amin": np.inf, "mean": 0.0}


def scatter_reduce(a, index, src, dim, reduce, include_self=True):
    y, counts = np.array(a, float), np.full(a.shape, float(include_self))
    places = [at for at in np.ndindex(*index.shape)]
    where = [
        tuple(index[at] if d == dim % a.ndim else i for d, i in enumerate(at)) for at in places
    ]
    for to in where if not include_self else ():
        y[to] = START[reduce]
    for at, to in zip(places, where):
        y[to] = JOINED[reduce](y[to], src[at])
        counts[to] += 1
    if reduce == "mean":
        y = y / np.maximum(counts, 1)
        y = y if a.dtype.kind == "f" else np.floor(y)
    return y.astype(a.dtype)


INDEX = x(2, 4, values=(0, 2, 1, 1, 0, 1, 1, 2), dtype="int64")
op(
    "scatter_reduce",
    ref=scatter_reduce,
    samples=[(x(3, 4), INDEX, x(2, 4)), (x(3, 4), INDEX, x(3, 5))],
    options=[dict(dim=0, reduce=r, include_self=s) for r in JOINED for s in (True, False)],
    pairs=[((x(2, 3), INDEX, x(2, 4)), dict(dim=1, reduce="sum"))],
    required=True,
    arrange=lambda f, a, index, src, dim, **o: f(a, dim, index, src, **o),
    dtypes=("float32", "float64", "int64"),
    ulp=4,
    atol=1e-6,
    big=[(x(3, 30_000), x(2, 30_000, dtype="int64", low=0, high=2), x(2, 30_000))],
    elementwise=False,
    refuses=[
        ((x(3, 4), INDEX, x(1, 4)), dict(dim=0, reduce="sum"), "no larger than"),
        ((x(3, 4), INDEX, x(2, 4)), dict(dim=0, reduce="unspecified"), "sum, prod, mean"),
    ],
    refuses_values=[
        ((x(1, 4), INDEX, x(2, 4)), dict(dim=0, reduce="sum"), "out of bounds"),
    ],
)
PLACES = x(4, values=(0, 2, 1, 0), dtype="int64")


def segment_reduce(a, given, reduce, axis=0, initial=None, unsafe=True, by="lengths"):
    if axis:
        parts = [segment_reduce(*p, reduce, axis - 1, initial, by=by) for p in zip(a, given)]
        return np.stack(parts)
    join, start = {
        "sum": (np.sum, 0.0),
        "mean": (np.sum, 0.0),
        "max": (np.max, -np.inf),
        "min": (np.min, np.inf),
        "prod": (np.prod, 1.0),
    }[reduce]
    first = np.full((1, *a.shape[1:]), start if initial is None else initial)
    cuts = np.concatenate([[0], np.cumsum(given)]) if by == "lengths" else given
    runs = [a[begin:end] for begin, end in zip(cuts, cuts[1:])]
    found = [join(np.concatenate([first, run]), axis=0) for run in runs]
    if reduce == "mean":
        found = [f / len(run) if len(run) or initial is None else f for f, run in zip(found, runs)]
    return np.stack(found)


SEGMENTS = ("sum", "mean", "max", "min", "prod")
LENGTHS, ROWS = x(3, values=(1, 3, 2), dtype="int64"), (1, 3, 1, 2, 1, 2)
OFFSETS = x(3, values=(1, 3, 4), dtype="int64")  # elements before and behind are in no segment
op(
    "segment_reduce",
    ref=segment_reduce,
    arrange=lambda f, a, given, reduce, by="lengths", **o: f(a, reduce, **{by: given}, **o),
    samples=[(x(6, 3), LENGTHS), (x(6), LENGTHS)],
    options=[dict(reduce=r) for r in SEGMENTS] + [dict(reduce=r, initial=0.5) for r in SEGMENTS],
    pairs=[
        ((x(2, 5, 2), x(2, 3, values=ROWS, dtype="int64")), dict(reduce=r, axis=1))
        for r in SEGMENTS
    ]
    + [
        ((x(4, 2, grad=False), x(3, values=(1, 0, 3), dtype="int64")), dict(reduce=r, unsafe=True))
        for r in SEGMENTS
    ]
    + [((x(6, 2), OFFSETS), dict(reduce=r, by="offsets")) for r in SEGMENTS]
    + [((x(6, 2), OFFSETS), dict(reduce=r, by="offsets", unsafe=True)) for r in SEGMENTS]
    + [
        ((x(6, 2), x(2, values=(1, 2), dtype="int64")), dict(reduce=r, unsafe=True, **o))
        for r in SEGMENTS
        for o in ({}, dict(initial=0.5))
    ],
    required=True,
    ulp=8,
    atol=1e-6,
    elementwise=False,
    big=[(x(6, 30_000), LENGTHS)],
    bad={"int64": "not implemented"},
    refuses=[
        ((x(6, 3), x(2, 2, dtype="int64")), dict(reduce="sum"), "expected lengths or offsets"),
        ((x(6, 3), LENGTHS), dict(reduce="unspecified"), "unsupported reduction"),
        ((x(), LENGTHS), dict(reduce="sum"), "at least one dimension"),
        ((x(6), x(2)), dict(reduce="sum"), "must be int64 or int32"),
        ((x(6), x(0, dtype="int64")), dict(reduce="sum", by="offsets"), "where the last segment"),
    ],
    refuses_values=[
        ((x(5), LENGTHS), dict(reduce="sum"), "Expected all rows of lengths"),
        ((x(5), x(2, values=(6, -1), dtype="int64")), dict(reduce="sum"), "negative value"),
        ((x(3), OFFSETS), dict(reduce="sum", by="offsets"), "offsets must lie from 0 to"),
        (
            (x(3), x(2, values=(2, 1), dtype="int64")),
            dict(reduce="sum", by="offsets"),
            "offsets must not fall",
        ),
    ],
)


def index_reduce(a, index, source, dim, reduce, include_self=True):
    shape = [1] * a.ndim
    shape[dim] = -1
    at = np.broadcast_to(index.reshape(shape), source.shape)
    return scatter_reduce(a, at, source, dim, reduce, include_self)


op(
    "index_reduce",
    ref=index_reduce,
    samples=[(x(3, 4), PLACES, x(4, 4))],
    options=[
        dict(dim=0, reduce=r, include_self=s)
        for r in ("prod", "mean", "amax", "amin")
        for s in (True, False)
    ],
    pairs=[((x(4, 3), PLACES, x(4, 4)), dict(dim=1, reduce="amax"))],
    big=[(x(3, 30_000), PLACES, x(4, 30_000))],
    required=True,
    arrange=lambda f, a, index, source, dim, **o: f(a, dim, index, source, **o),
    dtypes=("float32", "float64", "int64"),
    ulp=4,
    atol=1e-6,
    elementwise=False,
    refuses=[
        ((x(3, 4), PLACES, x(3, 4)), dict(dim=0, reduce="prod"), "one slice for each index"),
        ((x(3, 4), PLACES, x(4, 4)), dict(dim=0, reduce="sum"), "prod, mean, amax or amin"),
    ],
)
TIMES = x(3, values=(1, 0, 2), dtype="int64")
op(
    "repeat_interleave_each",
    ref=lambda a, times, dim=None: np.repeat(a, times, axis=dim),
    samples=[(x(3, 2), TIMES), (x(3), TIMES)],
    options=[dict(dim=0)],
    required=True,
    pairs=[
        ((x(3), TIMES), {}),
        ((x(2, 3), TIMES), dict(dim=-1)),
        ((x(2, 3), x(1, values=(2,), dtype="int64")), dict(dim=0)),
    ],
    big=[(x(3000, 20), x(3000, dtype="int64", low=0, high=3))],
    refuses=[
        ((x(4), TIMES), {}, "same size as input"),
        ((x(3), x(3, values=(1, -1, 1), dtype="int64")), {}, "can not be negative"),
        ((x(3), x(3, dtype="float32")), {}, "Long or Int"),
    ],
    **EXACT,
)


def fill_diagonal(a, fill_value, wrap=False):
    y = a.copy()
    np.fill_diagonal(y, fill_value, wrap)
    return y


op(
    "fill_diagonal_",
    ref=fill_diagonal,
    samples=[x(3, 3), x(7, 3), x(3, 5), x(3, 3, 3)],
    options=[dict(fill_value=1), dict(fill_value=0, wrap=True)],
    required=True,
    call=flambeau.Tensor.fill_diagonal_,
    refuses=[
        (x(3), dict(fill_value=1), "larger than 1"),
        (x(2, 2, 3), dict(fill_value=1), "equal length"),
    ],
    **EXACT,
)
