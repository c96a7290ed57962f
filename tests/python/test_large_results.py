"""Results that go past the caches have the numbers of small ones, wherever they begin and end: in
whole lines they are stored another way than what lies before and after."""

import os

import flambeau as torch
import numpy as np
import pytest


def beyond_cache(operands, width):
    """So many elements that a launch over all operands is larger than the last cache."""
    try:
        cache = os.sysconf("SC_LEVEL3_CACHE_SIZE")
    except (ValueError, OSError):
        cache = 0
    return max(cache, 1 << 20) // (operands * width) + 1021


@pytest.mark.parametrize("first,short", [(0, 0), (1, 0), (3, 5), (0, 13)])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int16", "bfloat16"])
def test_a_large_sum(dtype, first, short):
    kind = getattr(torch, dtype)
    n = beyond_cache(3, kind.itemsize)
    numbers = np.arange(n, dtype=np.int64) % 61
    x, y = torch.tensor(numbers).to(kind), torch.tensor(numbers[::-1].copy()).to(kind)
    part = slice(first, n - short)
    out = torch.full((n,), -1).to(kind)
    torch.add(x[part], y[part], out=out[part])
    found = out.to(torch.int64).numpy()
    assert np.array_equal(found[part], (numbers + numbers[::-1])[part])
    assert (found[:first] == -1).all() and (found[n - short :] == -1).all()
    assert np.array_equal((x[part] + y[part]).to(torch.int64).numpy(), found[part])


def test_a_large_sum_in_place():
    n = beyond_cache(2, 8)
    x = torch.arange(n, dtype=torch.float64)
    x += x
    assert np.array_equal(x.numpy(), 2.0 * np.arange(n))


def test_threads_share_a_large_sum():
    n, threads = beyond_cache(3, 8), torch.get_num_threads()
    x = torch.arange(n, dtype=torch.float64)
    try:
        torch.set_num_threads(2)
        two = x + x.flip(0)
    finally:
        torch.set_num_threads(threads)
    assert (two == n - 1).all()
