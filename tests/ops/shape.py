"""Views and other shapes of the same elements."""

import flambeau
import numpy as np

from tests.harness.table import ALL, op, x

VIEW = dict(dtypes=ALL, ulp=0, elementwise=False, required=True, view=True)
NO_DIM = "[Dd]imension out of range"
NOT_THAT_MANY = "invalid for input of size"


def moved(f, *names):
    """A NumPy function of an array and options, named as torch names them."""
    return lambda a, **o: f(a, *[o[n] for n in names if n in o])


SIZES = [dict(size=(4, 3)), dict(size=(-1,)), dict(size=(2, -1, 1, 3))]
EMPTY = (x(0, 3), dict(size=(3, 0, 2)))
TO_ONE = (x(), dict(size=(1, 1)))
op(
    "view",
    ref=moved(np.reshape, "size"),
    samples=[x(3, 4), x(12)],
    options=SIZES,
    pairs=[EMPTY, TO_ONE],
    strided="view size is not compatible",
    refuses=[(x(3, 4), dict(size=(5, 2)), NOT_THAT_MANY)],
    **VIEW,
)
op(
    "view_dtype",  # and back; tests/python/test_methods.py looks at what is in between
    ref=lambda a, dtype: np.array(a),
    samples=[x(3, 4), x(2, 3, 8)],
    options=[dict(dtype=d) for d in (flambeau.uint8, flambeau.int64)],
    required=True,
    dtypes=("float32", "int32"),
    call=lambda a, dtype: a.view(dtype).view(a.dtype),
    grad=False,
    elementwise=False,
    view=True,
    ulp=0,
    strided="must be 1 to view",
    refuses=[(x(3, 3), dict(dtype=flambeau.float64), "divisible")],
)
op(
    "reshape",
    ref=moved(np.reshape, "shape"),
    samples=[x(3, 4), x(12)],
    options=[dict(shape=o["size"]) for o in SIZES],
    pairs=[(s, dict(shape=o["size"])) for s, o in (EMPTY, TO_ONE)],
    refuses=[
        (x(3, 4), dict(shape=(5, 2)), NOT_THAT_MANY),
        (x(3, 4), dict(shape=(-1, -1)), "only one dimension can be inferred"),
    ],
    **{**VIEW, "view": "dense"},
)


def as_strided(a, size, stride, storage_offset=0):
    flat = a.ravel()[storage_offset:]
    at = sum(
        (np.arange(n) * s).reshape([-1] + [1] * (len(size) - i - 1))
        for i, (n, s) in enumerate(zip(size, stride))
    )
    return flat[np.broadcast_to(at, size)]


op(
    "as_strided",
    ref=as_strided,
    samples=[x(3, 4)],
    options=[
        dict(size=(2, 3), stride=(1, 2)),
        dict(size=(2, 2), stride=(4, 1), storage_offset=3),
        dict(size=(3, 3), stride=(1, 1)),
    ],
    refuses=[(x(3, 4), dict(size=(3, 5), stride=(4, 1)), "reach outside")],
    call=lambda a, **o: flambeau.as_strided(a.contiguous(), **o),
    **VIEW,
)
op(
    "permute",
    ref=moved(np.transpose, "dims"),
    samples=[x(2, 3, 4), x(1, 0, 2)],
    options=[dict(dims=(2, 0, 1)), dict(dims=(0, -1, 1))],
    pairs=[(x(), dict(dims=()))],
    refuses=[
        (x(2, 3), dict(dims=(0, 0)), "[Dd]uplicate|repeated"),
        (x(2, 3), dict(dims=(0, 2)), NO_DIM),
        (x(2, 3), dict(dims=(0,)), "number of dimensions"),
    ],
    **VIEW,
)
op(
    "transpose",
    ref=moved(np.swapaxes, "dim0", "dim1"),
    samples=[x(2, 3), x(2, 3, 4), x(0, 3)],
    options=[dict(dim0=0, dim1=1), dict(dim0=-1, dim1=0)],
    refuses=[(x(2, 3), dict(dim0=0, dim1=2), NO_DIM)],
    **VIEW,
)
op(
    "t",
    ref=np.transpose,
    samples=[x(2, 3), x(3), x(), x(3, 0)],
    refuses=[(x(2, 3, 4), {}, "2D|2-d|<= 2 dimensions")],
    **{**VIEW, "required": False},
)
for name, ref in [
    ("expand", lambda a, size: np.broadcast_to(a, [3 if s == -1 else s for s in size])),
    ("broadcast_to", np.broadcast_to),
]:
    op(
        name,
        ref=(lambda f: lambda a, size: f(a, size))(ref),
        samples=[x(2, 3), x(1, 3), x(3)],
        options=[dict(size=(4, 2, 3)), *([dict(size=(2, -1))] if name == "expand" else [])],
        pairs=[(x(), dict(size=(2, 2))), (x(1, 0), dict(size=(3, 0)))],
        refuses=[
            (x(2, 3), dict(size=(4, 3)), "must match"),
            (x(2, 3), dict(size=(3,)), "number of (sizes|dimensions)"),
        ],
        **VIEW,
    )


def slice_of(a, dim=0, start=0, end=2**62, step=1):
    return a[(slice(None),) * dim + (slice(start, end, step),)]


op(
    "slice",
    ref=slice_of,
    samples=[x(5, 4), x(3, 4, 2)],
    options=[
        dict(start=1, end=3),
        dict(start=-2),
        dict(dim=1, start=0, end=-1, step=2),
        dict(start=4, end=2),
    ],
    refuses=[(x(5), dict(step=0), "step"), (x(5), dict(dim=1), NO_DIM)],
    **VIEW,
)
op(
    "select",
    ref=lambda a, dim, index: np.take(a, index, axis=dim),
    samples=[x(3, 4), x(3, 2, 4)],
    options=[dict(dim=0, index=1), dict(dim=-1, index=-2)],
    pairs=[(x(4), dict(dim=0, index=3)), (x(2, 0), dict(dim=0, index=1))],
    refuses=[
        (x(3, 4), dict(dim=0, index=3), "out of bounds"),
        (x(3, 4), dict(dim=2, index=0), NO_DIM),
        (x(), dict(dim=0, index=0), "0-dim"),
    ],
    **VIEW,
)
op(
    "narrow",
    ref=lambda a, dim, start, length: np.take(
        a, range(start % (a.shape[dim] + 1), start % (a.shape[dim] + 1) + length), axis=dim
    ),
    samples=[x(3, 4), x(5, 4)],
    options=[dict(dim=0, start=1, length=2), dict(dim=-1, start=0, length=0)],
    refuses=[(x(3, 4), dict(dim=0, start=2, length=2), "exceeds dimension size")],
    **VIEW,
)
op(
    "squeeze",
    ref=lambda a, dim=None: a.squeeze()
    if dim is None
    else a.squeeze(tuple(d for d in np.atleast_1d(dim) if a.shape[d] == 1)),
    samples=[x(1, 3, 1), x(2, 3, 1), x(1, 0, 1)],
    options=[dict(dim=-1), dict(dim=(0, 2)), dict(dim=1)],
    pairs=[(x(), {})],
    refuses=[(x(1, 3), dict(dim=2), NO_DIM)],
    **{**VIEW, "required": False},
)
op(
    "unsqueeze",
    ref=moved(np.expand_dims, "dim"),
    samples=[x(2, 3), x(3), x(0, 2)],
    options=[dict(dim=0), dict(dim=-1), dict(dim=1)],
    pairs=[(x(), dict(dim=0))],
    refuses=[(x(2, 3), dict(dim=3), NO_DIM)],
    **VIEW,
)
op(
    "flatten",
    ref=lambda a, start_dim=0, end_dim=-1: a.reshape(
        [*a.shape[:start_dim], -1, *(a.shape[end_dim % a.ndim + 1 :] if a.ndim else ())]
    )
    if a.size
    else a.reshape(0),
    samples=[x(2, 3, 4), x(2, 1, 3, 2)],
    options=[dict(start_dim=1), dict(end_dim=1)],
    pairs=[(x(), {}), (x(0, 3), {}), (x(3), {})],
    refuses=[(x(2, 3), dict(start_dim=1, end_dim=0), "start_dim"), (x(2), dict(end_dim=2), NO_DIM)],
    **{**VIEW, "view": "dense", "required": False},
)
op(
    "unflatten",
    ref=lambda a, dim, sizes: a.reshape(
        [*a.shape[: dim % a.ndim], *sizes, *a.shape[dim % a.ndim + 1 :]]
    ),
    samples=[x(2, 6)],
    options=[dict(dim=1, sizes=(2, 3)), dict(dim=-1, sizes=(-1, 2, 1))],
    refuses=[(x(2, 6), dict(dim=1, sizes=(4, 2)), "multiply|product")],
    **VIEW,
)


def unfold(a, dimension, size, step):
    windows = np.lib.stride_tricks.sliding_window_view(a, size, axis=dimension)
    return windows[(slice(None),) * (dimension % a.ndim) + (slice(None, None, step),)]


op(
    "unfold_dim",
    ref=unfold,
    samples=[x(7, 4), x(5)],
    options=[dict(dimension=0, size=3, step=2), dict(dimension=0, size=2, step=2)],
    pairs=[(x(2, 5), dict(dimension=-1, size=2, step=1))],
    refuses=[
        (x(3), dict(dimension=0, size=4, step=1), "maximum size|size"),
        (x(3), dict(dimension=0, size=1, step=0), "step"),
    ],
    **VIEW,
)
op(
    "diagonal",
    ref=lambda a, offset=0, dim1=0, dim2=1: np.diagonal(a, offset, dim1, dim2),
    samples=[x(3, 4), x(3, 3, 2)],
    options=[dict(offset=1), dict(offset=-1, dim1=1, dim2=0), dict(offset=5)],
    pairs=[(x(2, 3, 4), dict(dim1=-1, dim2=0))],
    refuses=[(x(3, 4), dict(dim1=1, dim2=-1), "identical|same|differ")],
    **{**VIEW, "required": False},
)
op(
    "movedim",
    ref=moved(np.moveaxis, "source", "destination"),
    samples=[x(2, 3, 4), x(0, 1, 2)],
    options=[dict(source=(0,), destination=(-1,)), dict(source=(0, 1), destination=(2, 0))],
    refuses=[
        (x(2, 3), dict(source=(0, 0), destination=(0, 1)), "repeat|unique"),
        (x(2, 3), dict(source=(0,), destination=(0, 1)), "same|number|match"),
    ],
    **VIEW,
)

LIKE = x(4, 3, grad=False)
SHAPED = {**VIEW, "required": False, "crosses": True}
op(
    "view_as",
    ref=lambda a, b: a.reshape(b.shape),
    samples=[(x(3, 4), LIKE), (x(0, 2), x(2, 0, grad=False))],
    strided="view size is not compatible",
    refuses=[((x(3, 4), x(5, grad=False)), {}, NOT_THAT_MANY)],
    **SHAPED,
)
op(
    "reshape_as",
    ref=lambda a, b: a.reshape(b.shape),
    samples=[(x(3, 4), LIKE), (x(0, 2), x(2, 0, grad=False))],
    refuses=[((x(3, 4), x(5, grad=False)), {}, NOT_THAT_MANY)],
    **{**SHAPED, "view": "dense"},
)
op(
    "expand_as",
    ref=lambda a, b: np.broadcast_to(a, b.shape),
    samples=[(x(1, 3), LIKE), (x(), x(2, 0, grad=False)), (x(3), LIKE)],
    refuses=[((x(3, 4), x(5, grad=False)), {}, "must match|number of")],
    **SHAPED,
)
for name, ref in [
    ("contiguous", np.array),
    ("ravel", np.ravel),
    ("atleast_1d", np.atleast_1d),
    ("atleast_2d", np.atleast_2d),
    ("atleast_3d", np.atleast_3d),
]:
    op(
        name,
        ref=ref,
        samples=[x(3, 4), x(3), x(), x(0, 3), x(2, 3, 2)],
        **{**VIEW, "view": "dense", "required": False},
    )
op(
    "clone",
    ref=np.array,
    samples=[x(3, 4), x(), x(0, 3)],
    dtypes=ALL,
    ulp=0,
    elementwise=False,
    big=[x(300, 300)],
)
op(
    "detach",
    ref=np.array,
    samples=[x(3, 4), x(), x(0, 3)],
    grad=False,
    **{**VIEW, "required": False},
)

# In-place forms change the tensor's geometry, not its elements.
GEOMETRY = {**VIEW, "view": False}
op(
    "squeeze_",
    ref=lambda a, dim=None: a.squeeze(dim),
    samples=[x(1, 3, 1), x(2, 3, 1)],
    options=[dict(dim=-1)],
    refuses=[(x(1, 3), dict(dim=2), NO_DIM)],
    **{**GEOMETRY, "required": False},
)
op(
    "unsqueeze_",
    ref=moved(np.expand_dims, "dim"),
    samples=[x(2, 3), x()],
    options=[dict(dim=0), dict(dim=-1)],
    refuses=[(x(2, 3), dict(dim=3), NO_DIM)],
    **GEOMETRY,
)
op(
    "transpose_",
    ref=moved(np.swapaxes, "dim0", "dim1"),
    samples=[x(2, 3), x(2, 3, 4)],
    options=[dict(dim0=0, dim1=1), dict(dim0=-1, dim1=0)],
    refuses=[(x(2, 3), dict(dim0=0, dim1=2), NO_DIM)],
    **GEOMETRY,
)
op(
    "t_",
    ref=np.transpose,
    samples=[x(2, 3), x(3), x()],
    refuses=[(x(2, 3, 4), {}, "2D|2-d|<= 2 dimensions")],
    **{**GEOMETRY, "required": False},
)


def as_strided_of_rows(a, **options):
    a.data = a.contiguous()
    return a.as_strided_(**options)


op(
    "as_strided_",
    ref=as_strided,
    samples=[x(3, 4)],
    options=[
        dict(size=(2, 3), stride=(1, 2)),
        dict(size=(2, 2), stride=(4, 1), storage_offset=3),
    ],
    refuses=[(x(3, 4), dict(size=(3, 5), stride=(4, 1)), "reach outside")],
    call=as_strided_of_rows,
    **GEOMETRY,
)
