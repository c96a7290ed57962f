"""Sums of products over labelled dimensions."""

import flambeau
import numpy as np

from tests.harness.table import FLOATS, op, x

KW = dict(dtypes=FLOATS[:2], ulp=4, atol=1e-5, elementwise=False)


def labelled(equation, *shapes):
    return tuple(x(*s) for s in shapes), dict(equation=equation)


CALLS = [
    labelled("ij,jk", (3, 4), (4, 5)),
    labelled("ij,jk->ki", (3, 4), (4, 5)),
    labelled("ij,jk->", (3, 4), (4, 5)),
    labelled("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
    labelled("...ij,...jk->...ik", (2, 1, 3, 4), (6, 4, 5)),
    labelled("ii->i", (3, 3)),
    labelled("...ii", (2, 3, 3)),
    labelled("ij->ji", (3, 4)),
    labelled("ij->j", (3, 4)),
    labelled("ij,ij->ij", (3, 4), (3, 4)),
    labelled("i,j->ji", (3,), (4,)),
    labelled("bn,anm,bm->ba", (2, 5), (3, 5, 4), (2, 4)),
    labelled("ab,bc,cd,d->a", (2, 3), (3, 4), (4, 5), (5,)),
    labelled("bAa , Aa-> b", (2, 3, 4), (3, 4)),
    labelled(",ij", (), (2, 3)),
    labelled("ij,jk", (0, 3), (3, 2)),
    labelled("ij,jk", (2, 0), (0, 3)),
]


def refused(equation, text, *shapes):
    return (*labelled(equation, *shapes), text)


op(
    "einsum",
    ref=lambda *ts, equation: np.einsum(equation, *ts),
    samples=[CALLS[0][0]],
    options=[CALLS[0][1]],
    required=True,
    pairs=CALLS[1:],
    big=[(x(100, 200), x(200, 150))],
    call=lambda *ts, equation: flambeau.einsum(equation, *ts),
    view=None,
    refuses=[
        refused("ij,jk->iz", "does not appear in the equation", (3, 4), (4, 3)),
        refused("ij,jk,kl", "fewer operands", (3, 4), (4, 3)),
        refused("ij", "more operands", (3, 4), (4, 3)),
        refused("ijk,jk", "does not match the number of dimensions", (3, 4), (4, 3)),
        refused("ij,jk->ii", "more than once in the output", (3, 4), (4, 3)),
        refused("i1", "invalid subscript given at index 1", (3, 4)),
        refused("ij,kj", "does not broadcast", (3, 4), (4, 3)),
        refused("i.j", "not part of any ellipsis", (3, 4)),
        refused("ii", "sizes don't match", (3, 4)),
        refused("i......j", "already found", (3, 4)),
        refused("i->i... .", "output but an ellipsis \\(...\\) was already found", (3,)),
        refused("ij-ji", "expected '->'", (3, 4)),
    ],
    **KW,
)
op(
    "tensordot",
    ref=lambda a, b, dims: np.tensordot(a, b, dims),
    samples=[(x(3, 4), x(4, 3))],
    options=[dict(dims=1), dict(dims=0), dict(dims=([0, 1], [1, 0]))],
    pairs=[((x(2, 3, 4), x(3, 4, 5)), dict(dims=2)), ((x(2, 0), x(0, 3)), dict(dims=1))],
    required=True,
    call=flambeau.tensordot,
    big=[(x(40, 30), x(30, 40))],
    refuses=[
        ((x(2, 3), x(2, 3)), dict(dims=1), "contracted dimensions need to match"),
        ((x(2, 3), x(2, 3)), dict(dims=([0], [0, 1])), "same length"),
        ((x(2, 3), x(2, 3)), dict(dims=([0, 0], [0, 0])), "appears multiple times"),
        ((x(2, 3), x(2, 3)), dict(dims=-1), "dims >= 0"),
        ((x(2, 3), x(2, 3)), dict(dims=3), "ndim"),
    ],
    **KW,
)


def bilinear(a, b, weight, bias=None):
    y = np.einsum("...i,oij,...j->...o", a, weight, b)
    return y if bias is None else y + bias


op(
    "bilinear",
    ref=bilinear,
    samples=[(x(3, 4), x(3, 2), x(5, 4, 2), x(5)), (x(2, 3, 4), x(2, 3, 2), x(5, 4, 2))],
    pairs=[((x(4), x(2), x(5, 4, 2), x(5)), {}), ((x(0, 4), x(0, 2), x(5, 4, 2)), {})],
    big=[(x(300, 30), x(300, 20), x(10, 30, 20), x(10))],
    refuses=[
        ((x(3, 4), x(2, 2), x(5, 4, 2)), {}, "batch dimensions do not match"),
        ((x(3, 4), x(3, 2), x(5, 4, 3)), {}, "does not match weight size"),
        ((x(3, 4), x(3, 2), x(5, 4, 2), x(4)), {}, "bias size"),
    ],
    **KW,
)
