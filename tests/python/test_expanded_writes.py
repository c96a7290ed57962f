"""Writes by index to an expanded tensor, whose rows are one row in memory: every thread's are
there."""

import warnings

import flambeau as torch
import pytest


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64], ids=str)
def test_all_additions_arrive(dtype, threads):
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    at = torch.arange(64).repeat(50)
    ones = torch.ones(3200, 400, dtype=dtype)
    try:
        for _ in range(30):
            x = torch.zeros(1, 400, dtype=dtype).expand(64, 400)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of writes to expanded tensors
                x.index_put_((at,), ones, accumulate=True)
            assert (x == 3200).all()
    finally:
        torch.set_num_threads(before)
