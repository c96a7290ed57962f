"""Indexing and index assignment, each compared with NumPy."""

import numpy as np
import pytest

INDICES = [
    0,
    -1,
    slice(None),
    slice(1, None),
    slice(None, -1),
    slice(0, 3, 2),
    None,
    Ellipsis,
    (0, 1),
    (slice(None), 2),
    (Ellipsis, 0),
    (0, Ellipsis),
    (None, 1),
    (slice(None), None, 1),
    (0, slice(1, 3), None, -1),
    [0, 2],
    ([0, 1], [1, 2]),
    (slice(None), [0, 2]),
    ([0, 1], slice(None), [0, 1]),
    np.array([1, 0]),
    (slice(1, 3), np.array([[0, 1], [2, 0]])),
    (np.array([0, 1]), None),
    (0, [0, 1], slice(None)),
    [],
]


def arrays(torch, device):
    a = np.arange(36, dtype=np.float32).reshape(3, 4, 3)
    return a, torch.tensor(a, device=device)


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_get(torch, device, index):
    a, t = arrays(torch, device)
    expected = a[np.array([], dtype=np.int64) if isinstance(index, list) and not index else index]
    found = t[index]
    assert tuple(found.shape) == expected.shape
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_put(torch, device, index):
    a, t = arrays(torch, device)
    index_a = np.array([], dtype=np.int64) if isinstance(index, list) and not index else index
    a[index_a] = -1
    t[index] = -1
    assert t.tolist() == a.tolist()
    a[index_a] = a[index_a] * 2
    t[index] = t[index] * 2
    assert t.tolist() == a.tolist()


def test_masks(torch, device):
    a, t = arrays(torch, device)
    assert t[t > 20].tolist() == a[a > 20].tolist()
    rows = torch.tensor([True, False, True], device=device)
    assert t[rows].tolist() == a[[True, False, True]].tolist()
    t[t > 20] = 0
    a[a > 20] = 0
    assert t.tolist() == a.tolist()
    with pytest.raises(IndexError, match="does not match the shape"):
        t[torch.tensor([True, False], device=device)]


def test_tensor_indices(torch, device):
    a, t = arrays(torch, device)
    i = torch.tensor([[0, 1], [2, -1]], device=device)
    assert t[i].tolist() == a[i.tolist()].tolist()
    assert t[i, 0].tolist() == a[np.array(i.tolist()), 0].tolist()
    assert t[torch.tensor(1, device=device)].tolist() == a[1].tolist()


def test_views_share_memory(torch, device):
    _, t = arrays(torch, device)
    t[0][1] = 5
    assert t[0, 1].tolist() == [5, 5, 5]
    t[1:, 0] += 1
    assert t[1, 0].tolist() == [13, 14, 15]


@pytest.mark.parametrize(
    "index, kind, text",
    [
        (3, IndexError, "index 3 is out of bounds for dimension 0 with size 3"),
        ((0, -5), IndexError, "index -5 is out of bounds"),
        ((0, 0, 0, 0), IndexError, "too many indices for tensor of dimension 3"),
        (slice(None, None, -1), ValueError, "step must be greater than zero"),
        ("a", TypeError, "only integers, slices"),
    ],
)
def test_mistakes(torch, index, kind, text):
    t = torch.zeros(3, 4, 3)
    with pytest.raises(kind, match=text):
        t[index]


def test_gradient_through_indexing(torch, device):
    x = torch.arange(4.0, device=device).requires_grad_()
    (x[1:3] * 2).sum().backward()
    x[[0, 0, 3]].sum().backward()
    assert x.grad.tolist() == [2, 2, 2, 1]


def test_parts_written_over_what_they_are_parts_of(torch, device):
    whole = np.arange(9.0).reshape(3, 3)
    for target, part in (
        (slice(None), (1,)),
        (0, (0, 1)),
        (0, (0, slice(1, 2))),
        ((slice(None), 1), (1, 1)),
        (slice(None), (slice(None), slice(1, 2))),
        (slice(1, None), (0,)),
    ):
        expected = whole.copy()
        expected[target] = whole[part].copy()
        x = torch.tensor(whole, device=device)
        x[target] = x[part]
        assert x.tolist() == expected.tolist()
        leaf = torch.tensor(whole, device=device, requires_grad=True)
        y = leaf * 1
        y[target] = y[part]
        y.sum().backward()
        counts = np.zeros((3, 3))
        places = np.arange(9).reshape(3, 3)
        now = places.copy()
        now[target] = places[part].copy()
        np.add.at(counts.reshape(-1), now.reshape(-1), 1)
        assert leaf.grad.tolist() == counts.tolist()
    x = torch.tensor(whole, device=device)
    with pytest.raises(RuntimeError, match="single memory location"):
        x[1:] = x[:2]


def test_masks_of_more_dimensions_than_a_walk_has_lists(torch):
    x = torch.arange(2.0**12).reshape([2] * 12).requires_grad_()
    mask = x % 3 == 0
    assert x[mask].equal(x[x % 3 == 0].flatten()) and x[mask].sum() == 3 * sum(range(1366))
    x[mask].sum().backward()
    assert x.grad.equal(mask.float())
    y = x.detach().clone()
    y[mask] = -1
    assert y.equal(torch.where(mask, -1.0, x.detach()))
    z = x.detach().clone().unsqueeze(0)
    z[0, mask[..., 0]] = torch.tensor([7.0, 8.0])
    assert z[0][mask[..., 0]].unique().tolist() == [7, 8]


def test_truth_has_no_mean(torch, device):
    x, at = torch.ones(3, dtype=torch.bool, device=device), torch.tensor([0, 0, 1], device=device)
    for mean in (
        lambda: x.scatter_reduce(0, at, x, "mean"),
        lambda: x.scatter_reduce_(0, at, x, "mean", include_self=False),
        lambda: x.index_reduce(0, at, x, "mean"),
    ):
        with pytest.raises(RuntimeError, match="mean is not implemented for bool"):
            mean()
    assert x.all()
