"""Python's own forms of sorting, sets of values and contractions: names, tuples, `out=`, lists."""

import numpy as np
import pytest


def test_results_have_names(torch, device):
    x = torch.tensor([3.0, 1.0, 2.0], device=device)
    result = x.sort()
    assert result.values.tolist() == [1.0, 2.0, 3.0]
    assert result.indices.tolist() == [1, 2, 0]
    assert repr(x.cpu().topk(1)).startswith("torch.return_types.topk(\nvalues=")


def test_out_takes_a_pair(torch, device):
    x = torch.tensor([3.0, 1.0, 2.0], device=device)
    values = torch.empty(0, device=device)
    indices = torch.empty(3, dtype=torch.int64, device=device)
    result = torch.sort(x, descending=True, out=(values, indices))
    assert result.values is values and result.indices is indices
    assert values.tolist() == [3.0, 2.0, 1.0] and indices.tolist() == [0, 2, 1]
    with pytest.raises(RuntimeError, match="dtype"):
        torch.topk(x, 2, out=(values, values))


def test_a_long_line_is_sorted_alike_by_any_number_of_threads(torch):
    x = torch.tensor(np.random.default_rng(5).integers(0, 1000, 300000))
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            found.append(x.sort().indices.numpy())
    finally:
        torch.set_num_threads(before)
    np.testing.assert_array_equal(found[0], np.argsort(x.numpy(), kind="stable"))
    np.testing.assert_array_equal(found[0], found[1])


def test_unique_returns_what_is_asked_for(torch, device):
    x = torch.tensor([2, 1, 2, 5], device=device)
    assert torch.unique(x).tolist() == [1, 2, 5]
    assert x.unique(sorted=True).tolist() == [1, 2, 5]
    kinds, counts = torch.unique(x, return_counts=True)
    assert (kinds.tolist(), counts.tolist()) == ([1, 2, 5], [1, 2, 1])
    kinds, inverse, counts = x.unique(return_inverse=True, return_counts=True)
    assert inverse.tolist() == [1, 0, 1, 2]
    kinds, inverse = x.unique_consecutive(return_inverse=True)
    assert kinds.tolist() == [2, 1, 2, 5] and inverse.tolist() == [0, 1, 2, 3]
    nan = float("nan")
    assert len(torch.unique(torch.tensor([nan, nan, 1.0], device=device))) == 3


def test_quantiles_of_several_shares(torch, device):
    x = torch.arange(12.0, device=device).reshape(3, 4)
    q = torch.tensor([0.25, 0.5], device=device)
    assert torch.quantile(x, q).tolist() == [2.75, 5.5]
    assert torch.quantile(x, q, dim=1).shape == (2, 3)
    assert torch.quantile(x, q, dim=1, keepdim=True).shape == (2, 3, 1)
    with pytest.raises(RuntimeError, match="scalar or 1D"):
        torch.quantile(x, torch.rand(2, 2, device=device))


def test_searchsorted_with_a_sorter(torch, device):
    x = torch.tensor([3.0, 1.0, 2.0], device=device)
    order = x.argsort()
    at = torch.searchsorted(x, torch.tensor([2.5, 0.0], device=device), sorter=order)
    assert at.tolist() == [2, 0]
    narrow = torch.bucketize(torch.tensor([5.0], device=device), order.float(), out_int32=True)
    assert narrow.dtype == torch.int32
    x, order = x.cpu(), order.cpu()  # a GPU says so when it is waited for, and is lost
    with pytest.raises(IndexError, match="out of range"):
        torch.searchsorted(x, x, sorter=order + 1)


def test_einsum_with_lists(torch, device):
    a = torch.arange(6.0, device=device).reshape(2, 3)
    b = torch.arange(12.0, device=device).reshape(3, 4)
    want = (a @ b).tolist()
    assert torch.einsum(a, [0, 1], b, [1, 2], [0, 2]).tolist() == want
    assert torch.einsum(a, [0, 1], b, [1, 2]).tolist() == want
    assert torch.einsum("ij,jk", [a, b]).tolist() == want
    assert torch.einsum(a, [..., 1], [1, ...]).tolist() == a.T.tolist()
    with pytest.raises(ValueError, match="valid range"):
        torch.einsum(a, [0, 52], [0])
    with pytest.raises(ValueError, match="at least one operand"):
        torch.einsum("ij")


def test_tensordot_counts_or_names_dimensions(torch, device):
    a, b = torch.ones(2, 3, 4, device=device), torch.ones(3, 4, 5, device=device)
    assert torch.tensordot(a, b).shape == (2, 5)
    assert torch.tensordot(a, b, dims=([1], [0])).shape == (2, 4, 4, 5)
    out = torch.empty(0, device=device)
    assert torch.tensordot(a, b, 2, out=out) is out and out.tolist() == [[12.0] * 5] * 2
