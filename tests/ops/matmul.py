"""Products of vectors and matrices."""

import numpy as np

from tests.harness.table import FLOATS, op, x

# Products of half types are summed in float32 and rounded once; sums may cancel.
PRODUCT = dict(elementwise=False, ulp=4, atol=4e-6, bad={"bool": "not implemented for '[Bb]ool'"})
MISMATCH = "cannot be multiplied"
DTYPES = "same dtype"


def other(*shape):
    return x(*shape, dtype="int64", grad=False)


op(
    "matmul",
    ref=np.matmul,
    samples=[
        (x(3, 3), x(3, 3)),
        (x(2, 3), x(3, 4)),
        (x(3), x(3)),
        (x(2, 3), x(3)),
        (x(3), x(3, 2)),
        (x(2, 2, 3), x(3, 2)),
        (x(2, 1, 2, 3), x(3, 3, 2)),
        (x(2, 2, 3), x(3)),
        (x(3), x(2, 3, 2)),
        (x(2, 0), x(0, 3)),
        (x(0, 3), x(3, 2)),
    ],
    big=[(x(90, 130), x(130, 70)), (x(3, 300, 5), x(5, 300)), (x(300), x(300, 400))],
    refuses=[
        ((x(2, 3), x(2, 3)), {}, MISMATCH),
        ((x(), x(2, 3)), {}, "at least 1D"),
        ((x(3), x(2)), {}, "size"),
        ((x(2, 2, 3), x(3, 3, 2)), {}, "broadcast|must match"),
        ((x(2, 3), other(3, 2)), {}, DTYPES),
    ],
    **PRODUCT,
)
op(
    "linear",
    ref=lambda a, w, b=0: a @ w.T + b,
    samples=[
        (x(2, 3), x(4, 3), x(4)),
        (x(2, 3), x(4, 3)),
        (x(2, 2, 3), x(4, 3), x(4)),
        (x(3), x(4, 3), x(4)),
        (x(3), x(3)),
        (x(0, 3), x(4, 3), x(4)),
        (x(2, 0), x(4, 0), x(4)),
    ],
    big=[(x(90, 130), x(70, 130), x(70)), (x(1, 300), x(400, 300), x(400))],
    refuses=[
        ((x(2, 3), x(4, 2)), {}, MISMATCH),
        ((x(2, 3), x(4, 3), x(3)), {}, "bias of shape"),
        ((x(2, 3), other(4, 3)), {}, DTYPES),
    ],
    **PRODUCT,
)
op(
    "mm",
    ref=np.matmul,
    samples=[(x(3, 3), x(3, 3)), (x(2, 3), x(3, 4)), (x(2, 0), x(0, 3)), (x(0, 2), x(2, 3))],
    big=[(x(90, 130), x(130, 70)), (x(40, 300), x(300, 5))],
    refuses=[
        ((x(2, 3), x(2, 3)), {}, MISMATCH),
        ((x(2), x(2, 3)), {}, "2D"),
        ((x(2, 3), other(3, 2)), {}, DTYPES),
    ],
    **PRODUCT,
)
op(
    "bmm",
    ref=np.matmul,
    samples=[(x(2, 3, 3), x(2, 3, 3)), (x(2, 2, 3), x(2, 3, 4)), (x(0, 2, 3), x(0, 3, 2))],
    big=[(x(7, 60, 60), x(7, 60, 60))],
    refuses=[
        ((x(2, 3, 4), x(3, 4, 5)), {}, "batch"),
        ((x(2, 3, 4), x(2, 3, 4)), {}, "batch2|size|multiplied"),
        ((x(3, 4), x(4, 3)), {}, "3D"),
    ],
    **PRODUCT,
)
op(
    "mv",
    ref=np.matmul,
    samples=[(x(2, 3), x(3)), (x(3, 3), x(3)), (x(2, 0), x(0)), (x(0, 2), x(2))],
    big=[(x(300, 400), x(400))],
    refuses=[((x(2, 3), x(2)), {}, "size mismatch"), ((x(3), x(3)), {}, "matrix|2D|2-d")],
    **PRODUCT,
)
op(
    "dot",
    ref=np.dot,
    samples=[(x(5), x(5)), (x(0), x(0))],
    big=[(x(90000), x(90000))],
    refuses=[
        ((x(3), x(2)), {}, "same number of elements"),
        ((x(3, 1), x(3)), {}, "1D"),
    ],
    **PRODUCT,
)
op(
    "outer",
    ref=np.outer,
    samples=[(x(3), x(3)), (x(2), x(4)), (x(0), x(3))],
    dtypes=FLOATS + ("int64", "uint8"),
    big=[(x(300), x(300))],
    refuses=[((x(3, 1), x(2)), {}, "1-?D")],
    elementwise=False,
    ulp=1,
)


def add_product(c, a, b, beta=1, alpha=1):
    return alpha * (a @ b) + (beta * c if beta else 0)


FACTORS = [dict(beta=0.5), dict(alpha=-2), dict(beta=0, alpha=0.5)]
NOT_READ = x(2, 2, values=(np.nan, np.inf), grad=False)
op(
    "addmm",
    ref=add_product,
    samples=[
        (x(3, 3), x(3, 3), x(3, 3)),
        (x(2, 4), x(2, 3), x(3, 4)),
        (x(4), x(2, 3), x(3, 4)),
        (x(), x(2, 3), x(3, 4)),
        (x(2, 3), x(2, 0), x(0, 3)),
    ],
    options=FACTORS,
    pairs=[((NOT_READ, x(2, 3), x(3, 2)), dict(beta=0))],
    big=[(x(70), x(90, 130), x(130, 70))],
    refuses=[
        ((x(2, 4), x(2, 3), x(2, 4)), {}, MISMATCH),
        ((x(3, 2), x(2, 3), x(3, 2)), {}, "does not broadcast"),
    ],
    **PRODUCT,
)
op(
    "baddbmm",
    ref=add_product,
    samples=[
        (x(2, 3, 3), x(2, 3, 3), x(2, 3, 3)),
        (x(2, 1, 4), x(2, 2, 3), x(2, 3, 4)),
        (x(0, 2, 2), x(0, 2, 3), x(0, 3, 2)),
    ],
    options=FACTORS,
    big=[(x(7, 60, 60), x(7, 60, 60), x(7, 60, 60))],
    refuses=[((x(2, 2, 2), x(2, 2, 3), x(3, 3, 2)), {}, "batch")],
    **PRODUCT,
)
