"""Batches of products of a few multiply-adds each, beside sums in float64: every small size on both
sides of how many those are, orders of operands, broadcast batches, sums added, whole numbers."""

import flambeau as torch
import pytest

TOLERANCE = {torch.float32: 1e-6, torch.float64: 1e-15, torch.float16: 1e-3, torch.bfloat16: 1e-2}
SUBNORMAL = 2.0**-25  # half of what the least float16 are apart; others are nearer
SIZES = [(1, 1, 1), (2, 2, 2), (3, 1, 3), (1, 1, 64), (1, 1, 65), (8, 8, 1), (4, 4, 4), (4, 4, 5)]


def drawn(*sizes, dtype):
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(sum(sizes))).to(dtype)


def turned(x):
    return x.mT.contiguous().mT


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
def test_products(dtype, size):
    m, n, k = size
    for batch, other in (((7,), (7,)), ((), ()), ((5, 3), (3,)), ((4, 1), (1, 6)), ((1000,), ())):
        a, b = drawn(*batch, m, k, dtype=dtype), drawn(*other, k, n, dtype=dtype)
        wide = (a.double().unsqueeze(-1) * b.double().unsqueeze(-3)).abs().sum(-2)
        ideal = (a.double().unsqueeze(-1) * b.double().unsqueeze(-3)).sum(-2)
        for x, y in ((a, b), (turned(a), b), (a, turned(b)), (turned(a), turned(b))):
            found = (x @ y).double()
            assert found.shape == ideal.shape
            assert ((found - ideal).abs() <= TOLERANCE[dtype] * wide + SUBNORMAL).all()


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
def test_sums_are_added(dtype):
    a, b = drawn(9, 3, 2, dtype=dtype), drawn(9, 2, 4, dtype=dtype)
    for x in (drawn(9, 3, 4, dtype=dtype), drawn(4, dtype=dtype), drawn(9, 3, 1, dtype=dtype)):
        found = torch.baddbmm(x, a, b, beta=0.5, alpha=-2)
        ideal = 0.5 * x.double() - 2 * (a.double() @ b.double())
        torch.testing.assert_close(found.double(), ideal, rtol=0, atol=20 * TOLERANCE[dtype])
        x = x.expand(9, 3, 4).clone()
        torch.testing.assert_close(x.baddbmm_(a, b, beta=0.5, alpha=-2), found, rtol=0, atol=0)


def test_whole_numbers_are_exact_and_wrap():
    a = torch.arange(36).reshape(4, 3, 3)
    ideal = (a.unsqueeze(-1) * a.unsqueeze(-3)).sum(-2)
    for dtype in (torch.int64, torch.int32, torch.int16, torch.uint8):
        assert torch.equal(a.to(dtype) @ a.to(dtype), ideal.to(dtype))
