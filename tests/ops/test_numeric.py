"""Neighbouring numbers of every floating-point type, whose steps differ."""

import flambeau as torch
import numpy as np
import pytest

INTEGERS = {torch.float16: torch.int16, torch.bfloat16: torch.int16, torch.float32: torch.int32}
INF = float("inf")


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_neighbours_are_next_as_integers(dtype, device):
    """Up and down from numbers of all sizes, the least ones and those next to infinity."""
    whole = INTEGERS[dtype]
    top = torch.tensor([INF], dtype=dtype).view(whole).item()
    bits = np.unique(np.linspace(1, top - 1, 4001).astype(np.int64))
    at = torch.tensor(bits, dtype=whole).view(dtype).to(device)
    for sign in (1, -1):
        outwards = torch.nextafter(at * sign, torch.full_like(at, sign * INF))
        inwards = torch.nextafter(at * sign, torch.zeros_like(at))
        assert np.array_equal((outwards * sign).cpu().view(whole).numpy(), bits + 1)
        assert np.array_equal((inwards * sign).abs().cpu().view(whole).numpy(), bits - 1)
    ends = torch.tensor([0.0, -0.0, INF, -INF], dtype=dtype, device=device)
    to = torch.tensor([1.0, -1.0, 0.0, 0.0], dtype=dtype, device=device)
    steps = torch.nextafter(ends, to).abs().cpu().view(whole)
    assert steps.tolist() == [1, 1, top - 1, top - 1]
