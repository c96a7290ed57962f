"""`segment_reduce` against sums, means and extremes of slices."""

import flambeau as torch
import pytest

LENGTHS = [1, 0, 3, 2]
EMPTY = {"sum": 0.0, "mean": float("nan"), "max": -float("inf"), "min": float("inf"), "prod": 1.0}


@pytest.mark.parametrize("reduce", EMPTY)
def test_runs_of_rows(device, reduce):
    torch.manual_seed(0)
    rows = torch.randn(6, 3, dtype=torch.float64, device=device, requires_grad=True)
    lengths = torch.tensor(LENGTHS, device=device)
    found = torch.segment_reduce(rows, reduce, lengths=lengths)
    for part, run in zip(found, rows.split(LENGTHS)):
        if len(run):
            want = getattr(run, reduce)(0)
            want = want.values if reduce in ("max", "min") else want
        else:
            want = torch.full((3,), EMPTY[reduce], dtype=torch.float64, device=device)
        assert torch.allclose(part, want, equal_nan=True)
    offsets = torch.tensor([0, 1, 1, 4, 6], device=device)
    again = torch.segment_reduce(rows, reduce, offsets=offsets)
    assert torch.allclose(again, found, equal_nan=True)
    assert torch.autograd.gradcheck(
        lambda x: torch.segment_reduce(x, reduce, lengths=lengths, initial=0.5), (rows,)
    )


def test_runs_inside_a_batch():
    rows = torch.arange(8.0).reshape(2, 4)
    lengths = torch.tensor([[1, 3], [2, 2]])
    found = torch.segment_reduce(rows, "sum", lengths=lengths, axis=1)
    assert found.tolist() == [[0, 6], [9, 13]]
    assert torch.segment_reduce(rows[0], "max", lengths=lengths[0], initial=2).tolist() == [2, 3]
    with pytest.raises(RuntimeError, match=r"to sum to data.size\(0\) = 4"):
        torch.segment_reduce(rows[0], "sum", lengths=torch.tensor([1, 2]))
    with pytest.raises(RuntimeError, match="negative value"):
        torch.segment_reduce(rows[0], "sum", lengths=torch.tensor([5, -1]))
    with pytest.raises(RuntimeError, match="Either lengths or offsets"):
        torch.segment_reduce(rows[0], "sum")
    with pytest.raises(ValueError, match="can only be .sum. or .mean."):
        torch.segment_reduce(rows[0], "median", lengths=lengths[0])


def test_offsets_that_fall_make_empty_segments():
    rows = torch.arange(6.0)
    for cuts, want in [([0, 4, 2, 6], [6, 0, 9]), ([-3, 2, 99], [1, 14]), ([7, 9], [0])]:
        found = torch.segment_reduce(rows, "sum", offsets=torch.tensor(cuts), unsafe=True)
        assert found.tolist() == want
    lengths = torch.tensor([-1, 2, 2**62, 2**62])
    found = torch.segment_reduce(rows, "mean", lengths=lengths, unsafe=True, initial=0)
    assert found.tolist() == [0, 0.5, 3.5, 0]
    with pytest.raises(torch.UnsupportedError, match="indices"):
        torch.segment_reduce(rows, "sum", lengths=lengths, indices=lengths)
