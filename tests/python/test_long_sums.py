"""Sums of many products of one constant, which a chain of additions in the type itself gets further
off with each: products of vectors and matrices, however they lie, and convolutions' gradients."""

import flambeau as torch
import pytest
from flambeau.nn import functional as F

LONG = 400_003
ALLOWED = 3e-5  # relative; one chain is off by more than 1e-3


def tenths(*sizes):
    return torch.full(sizes, 0.1)


def expect(found, terms):
    exact = terms * float(torch.tensor(0.1)) ** 2
    assert float((found.double() - exact).abs().max()) <= ALLOWED * exact


PRODUCTS = {
    "dot": lambda: tenths(LONG).dot(tenths(LONG)),
    "dot of every other": lambda: tenths(2 * LONG)[::2].dot(tenths(2 * LONG)[::2]),
    "vdot": lambda: torch.vdot(tenths(LONG), tenths(LONG)),
    "inner": lambda: torch.inner(tenths(LONG), tenths(LONG)),
    "mv": lambda: torch.mv(tenths(3, LONG), tenths(LONG)),
    "mv of columns": lambda: torch.mv(tenths(LONG, 3).T, tenths(LONG)),
    "einsum": lambda: torch.einsum("i,i->", tenths(LONG), tenths(LONG)),
    "1 x k by k x 2": lambda: tenths(1, LONG) @ tenths(LONG, 2),
    "2 x k by k x 2": lambda: tenths(2, LONG) @ tenths(LONG, 2),
    "k x 2 turned by k x 17": lambda: tenths(LONG, 2).T @ tenths(LONG, 17),
    "bmm": lambda: torch.bmm(tenths(2, 1, LONG), tenths(2, LONG, 1)),
    "linear": lambda: F.linear(tenths(1, LONG), tenths(1, LONG)),
    "vecdot": lambda: torch.linalg.vecdot(tenths(2, LONG), tenths(2, LONG)),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name):
    expect(PRODUCTS[name](), LONG)


@pytest.mark.parametrize(
    ("channels", "out", "groups", "kernel"),
    [(1, 1, 1, 1), (1, 1, 1, 3), (16, 16, 16, 3), (8, 8, 1, 3), (8, 8, 4, 2), (3, 5, 1, 5)],
)
def test_weight_gradients_of_convolutions(channels, out, groups, kernel):
    side = 640
    w = torch.zeros(out, channels // groups, kernel, kernel, requires_grad=True)
    y = F.conv2d(tenths(1, channels, side, side), w, groups=groups)
    y.backward(torch.full(y.shape, 0.1))
    expect(w.grad, (side - kernel + 1) ** 2)


def test_weight_gradient_of_far_taps():
    length = 60_003
    w = torch.zeros(1, 1, 2, requires_grad=True)
    y = F.conv1d(tenths(1, 1, length), w, dilation=length, padding=length)
    y.backward(torch.full(y.shape, 0.1))
    assert y.shape[-1] == 2 * length
    expect(w.grad, length)
