"""Reading and writing at indices."""

import numpy as np

from tests.harness.gen import api
from tests.harness.table import ALL, FLOATS, INTS, NUMBERS, always, before_operands, op, x

EXACT = dict(dtypes=ALL, ulp=0, elementwise=False)
OUT = "out of (range|bounds)"
NOT_AN_INDEX = "[Ee]xpected.*(int64|dtype)|int64"


def at(*values, shape=None):
    """An index tensor."""
    return x(*(shape or (len(values),)), dtype="int64", values=values, grad=False)


def mask(*shape):
    return x(*shape, dtype="bool", grad=False)


MARK = "operand"


def with_marks(index, operands):
    """The index with operands where it has marks."""
    left = iter(operands)
    return tuple(next(left) if item is MARK else item for item in index)


ITEMS = [
    (x(3, 4, 2), dict(index=(1,))),
    (x(3, 4, 2), dict(index=(slice(1, None), None, -1))),
    (x(3, 4, 2), dict(index=(Ellipsis, slice(0, 2, 2)))),
    ((x(3, 4, 2), at(0, 2, 1), at(1, 1, 3)), dict(index=(MARK, MARK))),
    ((x(3, 4, 2), at(0, 2, 1), at(1, 0, 1)), dict(index=(MARK, slice(None), MARK))),
    ((x(3, 4, 2), at(0, 2, 1, -1, shape=(2, 2))), dict(index=(None, MARK, 1))),
    ((x(3, 4), mask(3, 4)), dict(index=(MARK,))),
    ((x(3, 4), mask(3)), dict(index=(MARK, 1))),
    ((x(3, 4), at(shape=(0,))), dict(index=(MARK,))),
    ((x(), mask()), dict(index=(MARK,))),
]
MANY = at(*range(0, 300, 3))


def item_of(a, *operands, index):
    return a[with_marks(index, operands)]


op(
    "index",
    ref=item_of,
    call=item_of,
    samples=[(x(3, 4, 2), at(0, 2, -1)), (x(3, 3), at(0, 2, 2, 1, shape=(2, 2)))],
    options=[dict(index=(MARK,)), dict(index=(slice(None), MARK))],
    required=True,
    pairs=ITEMS,
    view=None,
    big=[(x(300, 300), MANY)],
    refuses=[
        (x(3, 4), dict(index=(3,)), OUT),
        (x(3, 4), dict(index=(0, 0, 0)), "too many indices"),
        ((x(3, 4), mask(4)), dict(index=(MARK,)), "does not match the shape"),
        ((x(3, 4), at(0, 1), at(0, 1, 2)), dict(index=(MARK, MARK)), "broadcast"),
    ],
    **EXACT,
)


def put(a, values, *operands, index, accumulate=False):
    if not accumulate:
        a[with_marks(index, operands)] = values
        return a
    tensors = [6] * len(operands)  # FLAM_INDEX_TENSOR
    return api.index_put_(a, tensors, [0] * 3 * len(operands), operands, values, True)


def put_ref(a, values, *operands, index, accumulate=False):
    b = a.copy()
    if accumulate:
        np.add.at(b, tuple(operands), values)
    else:
        b[with_marks(index, operands)] = values
    return b


op(
    "index_put_",
    ref=put_ref,
    call=put,
    samples=[(x(3, 4), x(2, 4), at(0, 2)), (x(3, 4), x(), at(0, -1))],
    options=[dict(index=(MARK,)), dict(index=(MARK,), accumulate=True)],
    required=True,
    pairs=[
        ((x(3, 4), x(3)), dict(index=(slice(None), 1))),
        ((x(3, 4), x(1, 4)), dict(index=(slice(0, 3, 2),))),
        ((x(3, 4), x(), mask(3, 4)), dict(index=(MARK,))),
        ((x(3, 4), x(2), at(0, 1), at(2, 2)), dict(index=(MARK, MARK))),
        ((x(3), x(5), at(0, 1, 0, 0, 2)), dict(index=(MARK,), accumulate=True)),
    ],
    big=[(x(300, 300), x(100, 300), MANY)],
    refuses=[
        ((x(3, 4), x(3), at(0, 1)), dict(index=(MARK,)), "broadcast|shape mismatch"),
        ((x(3, 4), x(4)), dict(index=(5,)), OUT),
    ],
    **{**EXACT, "dtypes": NUMBERS, "ulp": 1},
)

ALONG = dict(arrange=before_operands("dim"), required=True)
DIMS = [dict(dim=0), dict(dim=-1)]
op(
    "index_select",
    ref=lambda a, index, dim: np.take(a, np.atleast_1d(index), dim),
    samples=[(x(3, 4), at(0, 2, 1, 1)), (x(3, 3), x(dtype="int64", values=(2,), grad=False))],
    options=DIMS,
    pairs=[((x(0, 3), at(shape=(0,))), dict(dim=0)), ((x(3), at(1, 0)), dict(dim=0))],
    big=[(x(300, 300), MANY)],
    refuses=[
        ((x(3, 4), at(0, 1, shape=(1, 2))), dict(dim=0), "1D|1-d|vector|dimension"),
        ((x(3, 4), x(2, low=0, high=1)), dict(dim=0), NOT_AN_INDEX),
    ],
    refuses_values=[
        ((x(3, 4), at(0, 3)), dict(dim=0), OUT),
    ],
    **ALONG,
    **EXACT,
)


def written(combine):
    """A NumPy function that changes the slices of a copy."""

    def ref(a, index, *source, dim, **options):
        b = a.copy()
        target = np.moveaxis(b, dim, 0)
        given = [np.moveaxis(s, dim, 0) if s.ndim else s for s in source]
        combine(target, np.atleast_1d(index), *given, **options)
        return b

    return ref


def add_rows(target, index, source, alpha=1):
    np.add.at(target, index, source if alpha == 1 else alpha * source)


SLICES = [(x(3, 3), at(0, 2), x(2, 3)), (x(4, 3, 2), at(3, 0), x(2, 3, 2))]
COLUMNS = ((x(3, 4), at(1, 3), x(3, 2)), dict(dim=1))
NOTHING = ((x(3, 2), at(shape=(0,)), x(0, 2)), dict(dim=0))
BIG = [(x(300, 300), MANY, x(100, 300))]
MISTAKES = [
    ((x(3, 4), at(0, 1), x(2, 3)), dict(dim=0), "[Ss]ource|source|shape|size"),
    ((x(3, 4), at(0, 1), x(2, 4, dtype="int64")), dict(dim=0), "dtype|scalar type"),
    ((x(3, 4), at(0, 1), x(2, 4)), dict(dim=2), "[Dd]imension out of range"),
]
BEYOND = [
    ((x(3, 4), at(0, 3), x(2, 4)), dict(dim=0), OUT),
]
op(
    "index_add",
    ref=written(add_rows),
    samples=SLICES,
    options=[dict(dim=0), dict(dim=0, alpha=2)],
    pairs=[
        COLUMNS,
        NOTHING,
        ((x(3, 4), at(1, 1, 1), x(3, 4)), dict(dim=0)),
    ],
    big=[(x(300, 300), MANY, x(100, 300)), (x(3, 300), at(*[0, 1, 0] * 100), x(300, 300))],
    refuses=MISTAKES,
    refuses_values=BEYOND,
    **ALONG,
    **{**EXACT, "dtypes": NUMBERS, "ulp": 2, "atol": 1e-6},
)
op(
    "index_copy",
    ref=written(lambda target, index, source: target.__setitem__(index, source)),
    samples=SLICES,
    options=[dict(dim=0)],
    pairs=[COLUMNS, NOTHING],
    big=BIG,
    refuses=MISTAKES,
    refuses_values=BEYOND,
    **ALONG,
    **EXACT,
)
op(
    "index_fill",
    ref=written(lambda target, index, value: target.__setitem__(index, value)),
    samples=[(x(3, 4), at(0, 2), x()), (x(4, 3), at(-1), x())],
    options=DIMS,
    pairs=[((x(3), at(shape=(0,)), x()), dict(dim=0))],
    big=[(x(300, 300), MANY, x())],
    refuses=[
        ((x(3, 4), at(0), x(2)), dict(dim=0), "0-d"),
    ],
    refuses_values=[
        ((x(3, 4), at(0, 3), x()), dict(dim=0), OUT),
    ],
    **ALONG,
    **EXACT,
)


def picked(a, index, dim):
    if not a.ndim:
        return np.full(index.shape, a)
    dim %= a.ndim
    smaller = tuple(slice(None) if i == dim else slice(n) for i, n in enumerate(index.shape))
    return np.take_along_axis(a[smaller], index, dim)


GRID = at(0, 2, 1, 0, 1, 1, 2, 0, shape=(2, 4))
op(
    "gather",
    ref=picked,
    samples=[(x(3, 4), GRID), (x(4, 4), GRID)],
    options=DIMS,
    pairs=[
        ((x(3, 2), at(shape=(0, 2))), dict(dim=0)),
        ((x(3), at(2, 2, 0, 1)), dict(dim=0)),
        ((x(), x(dtype="int64", values=(0,), grad=False)), dict(dim=0)),
        ((x(2, 3, 2), at(1, 0, 1, 1, shape=(2, 1, 2))), dict(dim=1)),
    ],
    big=[(x(300, 300), at(*range(300), shape=(300, 300)))],
    refuses=[
        ((x(3, 4), at(0, 1)), dict(dim=0), "dimension"),
        ((x(3, 4), at(*[0] * 5, shape=(1, 5))), dict(dim=0), "[Ss]ize|greater|larger"),
        ((x(3, 4), x(1, 2, low=0, high=1)), dict(dim=0), NOT_AN_INDEX),
    ],
    refuses_values=[
        ((x(3, 4), at(0, 3, shape=(1, 2))), dict(dim=0), OUT),
    ],
    **ALONG,
    **EXACT,
)


def spread(combine):
    """Element by element, as the header's formula says."""

    def ref(a, index, *src, dim, value=None):
        b = a.copy()
        for place in np.ndindex(index.shape):
            to = list(place)
            to[dim] = index[place]
            combine(b, tuple(to), src[0][place] if src else value)
        return b

    return ref


def with_value(f, a, index, *src, dim, value=None, **more):
    return f(a, dim, index, src[0] if src else value, **more)


UNIQUE = at(0, 2, 1, 0, 1, 0, 2, 1, shape=(2, 4))
SCATTERED = [
    ((x(3, 4), at(shape=(0, 4)), x(2, 4)), dict(dim=0)),
    ((x(5), at(4, 0), x(3)), dict(dim=0)),
    ((x(2, 5), at(4, 0, 1, 2, 3, 0, shape=(2, 3)), x(2, 3)), dict(dim=1)),
    ((x(3, 2, 4), at(1, 0, shape=(1, 2, 1)), x(2, 2, 2)), dict(dim=0)),
]
WRONG = [
    ((x(3, 4), at(0, 1), x(2)), dict(dim=0), "dimension"),
    ((x(3, 4), at(0, 1, shape=(1, 2)), x(1, 1)), dict(dim=0), "[Ss]ize|smaller|larger"),
    ((x(3, 4), at(0, shape=(1, 1)), x(1, 1, dtype="int64")), dict(dim=0), "dtype"),
]
BEYOND_TOO = [
    ((x(3, 4), at(0, 3, shape=(1, 2)), x(1, 2)), dict(dim=0), OUT),
]
HUGE = [(x(300, 300), at(*range(300), shape=(300, 300)), x(300, 300))]
op(
    "scatter",
    ref=spread(lambda b, to, v: b.__setitem__(to, v)),
    samples=[(x(3, 4), UNIQUE, x(2, 4)), (x(4, 4), UNIQUE, x(3, 4))],
    options=[dict(dim=0)],
    required=True,
    arrange=with_value,
    pairs=[*SCATTERED, ((x(3, 4), UNIQUE), dict(dim=0, value=1))],
    big=[(x(300, 300), at(*range(300), shape=(300, 300)), x(300, 300))],
    refuses=WRONG,
    refuses_values=BEYOND_TOO,
    **EXACT,
)
op(
    "scatter_add",
    ref=spread(lambda b, to, v: b.__setitem__(to, b[to] + v)),
    samples=[(x(3, 4), UNIQUE, x(2, 4)), (x(3, 4), GRID, x(3, 5))],
    options=[dict(dim=0)],
    pairs=[*SCATTERED, ((x(3), at(1, 1, 1, 1), x(4)), dict(dim=0))],
    big=HUGE + [(x(3, 300), at(*[0, 1, 0] * 100, shape=(300, 300)), x(300, 300))],
    refuses=WRONG,
    refuses_values=BEYOND_TOO,
    **ALONG,
    **{**EXACT, "dtypes": NUMBERS, "ulp": 2, "atol": 1e-6},
)

op(
    "masked_select",
    ref=lambda a, m: np.broadcast_to(a, np.broadcast_shapes(a.shape, m.shape))[
        np.broadcast_to(m, np.broadcast_shapes(a.shape, m.shape))
    ],
    samples=[(x(3, 4), mask(3, 4)), (x(3, 4), mask(4)), (x(4), mask(3, 1)), (x(0), mask(0))],
    pairs=[((x(), mask()), {})],
    big=[(x(300, 300), mask(300, 300))],
    refuses=[
        ((x(3, 4), mask(3)), {}, "broadcast|must match"),
        ((x(3), x(3, dtype="int64")), {}, "BoolTensor"),
    ],
    **EXACT,
)


def masked_scatter(a, m, source):
    b, m = a.copy(), np.broadcast_to(m, a.shape)
    b[m] = source.ravel()[: m.sum()]
    return b


op(
    "masked_scatter",
    ref=masked_scatter,
    samples=[(x(3, 4), mask(3, 4), x(12)), (x(3, 4), mask(4), x(4, 4)), (x(0), mask(0), x(2))],
    big=[(x(300, 300), mask(300, 300), x(300, 300))],
    refuses=[
        ((x(3), x(3, dtype="bool", values=(True,)), x(2)), {}, "elements"),
        ((x(3), mask(3), x(3, dtype="int64")), {}, "dtype|type"),
        ((x(3), x(3, dtype="int64"), x(3)), {}, "BoolTensor"),
    ],
    **EXACT,
)
NO_GRADIENT = dict(result=always("int64"), grad=False)
op(
    "nonzero",
    ref=np.argwhere,
    samples=[x(3, 4, values=(0, 1, 0, 2, 3)), x(5, values=(0,)), x(0, 3), x(2, 3, 2)],
    big=[x(300, 300)],
    **NO_GRADIENT,
    **EXACT,
)
op(
    "nonzero_tuple",
    ref=lambda a: np.nonzero(np.atleast_1d(a)),
    samples=[x(3, 4, values=(0, 1, 0, 2, 3)), x(5, values=(0,)), x(0, 3), x()],
    big=[x(300, 300)],
    **NO_GRADIENT,
    **EXACT,
)
op(
    "unravel_index",
    ref=lambda a, shape: list(np.unravel_index(a % int(np.prod(shape)), shape)),
    samples=[x(3, 4, low=0, high=40), x(low=-9), x(0)],
    options=[dict(shape=(3, 4)), dict(shape=7), dict(shape=(2, 1, 5))],
    required=True,
    big=[x(300, 300, low=0, high=90)],
    refuses=[
        (x(3), dict(shape=(3, -1)), "negative values"),
        (x(3), dict(shape=(3, 0)), "zero dimensions"),
    ],
    **{
        **NO_GRADIENT,
        **EXACT,
        "dtypes": INTS,
        "result": always("int64"),
        "bad": {d: "integer dtype" for d in (*FLOATS, "bool")},
    },
)
op(
    "take",
    ref=np.take,
    samples=[(x(3, 4), at(0, 11, -1, 5, shape=(2, 2))), (x(), at(0, 0)), (x(3), at(shape=(0,)))],
    big=[(x(300, 300), at(*range(0, 90000, 7)))],
    refuses=[
        ((x(3), x(2, low=0, high=1)), {}, NOT_AN_INDEX),
    ],
    refuses_values=[
        ((x(3, 4), at(12)), {}, OUT),
    ],
    **EXACT,
)
op(
    "take_along_dim",
    ref=lambda a, index, dim=None: np.take_along_axis(a, index, dim)
    if dim is not None
    else a.ravel()[index.ravel()],
    samples=[(x(3, 4), at(0, 2, 1, 0, shape=(1, 4))), (x(3, 1), at(0, 2, 1, shape=(3, 1)))],
    options=[dict(dim=0)],
    pairs=[((x(3, 4), at(1, 3, 0, shape=(3, 1))), dict(dim=1))],
    big=[(x(300, 300), at(*range(300), shape=(300, 300)))],
    refuses=[
        ((x(3, 4), at(0, 1)), dict(dim=0), "dimension"),
    ],
    refuses_values=[
        ((x(3, 4), at(3, shape=(1, 1))), dict(dim=0), OUT),
    ],
    **EXACT,
)
op(
    "embedding",
    ref=lambda index, weight, padding_idx=None: weight[index],
    samples=[(at(0, 2, 2, 1, shape=(2, 2)), x(5, 3)), (at(shape=(0,)), x(5, 3))],
    options=[dict(padding_idx=3), dict(padding_idx=-1)],  # rows that no index names
    big=[(at(*[1, 0, 1] * 200), x(5, 300))],
    refuses=[
        ((at(0), x(5)), {}, "2-d|2D|weight"),
        ((x(2, low=0, high=1), x(5, 3)), {}, NOT_AN_INDEX),
    ],
    refuses_values=[
        ((at(5), x(5, 3)), {}, OUT),
    ],
    **{**EXACT, "dtypes": FLOATS},
)
op(
    "one_hot",
    ref=lambda c, num_classes=-1: np.eye(
        num_classes if num_classes > 0 else c.max() + 1, dtype=np.int64
    )[c],
    samples=[at(0, 2, 1, 0, shape=(2, 2)), x(dtype="int64", values=(2,), grad=False)],
    options=[dict(num_classes=400)],
    pairs=[(at(shape=(0,)), dict(num_classes=3))],
    big=[at(*range(300))],
    refuses=[
        (at(0, 3), dict(num_classes=3), "smaller than num_classes"),
        (at(0, -1), {}, "non-negative"),
        (x(2, dtype="float32"), {}, "LongTensor"),
        (at(shape=(0,)), {}, "empty"),
    ],
    **NO_GRADIENT,
    **{**EXACT, "dtypes": ("int64",)},
)
