"""Joining, parting and repeating tensors, against NumPy, and that gradients come back to their
places.
"""

import numpy as np
import pytest


def arrays(*shapes):
    rng = np.random.default_rng(3)
    return [rng.standard_normal(s) for s in shapes]


JOINS = {
    "cat": (lambda t, xs: t.cat(xs, 1), lambda xs: np.concatenate(xs, 1)),
    "stack": (lambda t, xs: t.stack(xs, 1), lambda xs: np.stack(xs, 1)),
    "hstack": (lambda t, xs: t.hstack(xs), np.hstack),
    "vstack": (lambda t, xs: t.vstack(xs), np.vstack),
    "dstack": (lambda t, xs: t.dstack(xs), np.dstack),
}


@pytest.mark.parametrize("name", JOINS)
def test_joins(torch, device, name):
    ours, theirs = JOINS[name]
    xs = arrays((2, 3), (2, 3), (2, 3))
    tensors = [torch.tensor(x, device=device, requires_grad=True) for x in xs]
    y = ours(torch, tensors)
    np.testing.assert_array_equal(y.detach().cpu().numpy(), theirs(xs))
    weights = np.arange(y.numel(), dtype=float).reshape(tuple(y.shape))
    (y * torch.tensor(weights, device=device)).sum().backward()
    places = theirs([np.full((2, 3), float(i)) for i in range(3)])
    for i, t in enumerate(tensors):
        np.testing.assert_array_equal(
            np.sort(t.grad.cpu().numpy().ravel()), np.sort(weights[places == i])
        )


def test_parts(torch, device):
    (x,) = arrays((5, 4))
    t = torch.tensor(x, device=device)
    for parts, expected in [
        (t.split(2), np.split(x, [2, 4])),
        (t.split([1, 4]), np.split(x, [1])),
        (t.chunk(2), np.split(x, [3])),
        (t.unbind(1), [x[:, i] for i in range(4)]),
    ]:
        assert len(parts) == len(expected)
        for part, e in zip(parts, expected, strict=True):
            np.testing.assert_array_equal(part.cpu().numpy(), e)


REPEATS = {
    "flip": (lambda t, x: x.flip(0, 1), lambda a: a[::-1, ::-1]),
    "fliplr": (lambda t, x: t.fliplr(x), np.fliplr),
    "flipud": (lambda t, x: t.flipud(x), np.flipud),
    "roll": (lambda t, x: t.roll(x, 2, 1), lambda a: np.roll(a, 2, 1)),
    "repeat": (lambda t, x: x.repeat(2, 3), lambda a: np.tile(a, (2, 3))),
    "tile": (lambda t, x: t.tile(x, (2, 1)), lambda a: np.tile(a, (2, 1))),
    "repeat_interleave": (lambda t, x: x.repeat_interleave(2, 1), lambda a: np.repeat(a, 2, 1)),
}


@pytest.mark.parametrize("name", REPEATS)
def test_repeats(torch, device, name):
    ours, theirs = REPEATS[name]
    (a,) = arrays((3, 4))
    x = torch.tensor(a, device=device, requires_grad=True)
    y = ours(torch, x)
    np.testing.assert_array_equal(y.detach().cpu().numpy(), theirs(a))
    y.sum().backward()
    assert (x.grad.cpu().numpy() == y.numel() / x.numel()).all()


def test_grids(torch, device):
    a, b = torch.arange(3, device=device), torch.arange(2, device=device)
    ours = torch.meshgrid(a, b, indexing="ij")
    for x, e in zip(ours, np.meshgrid(np.arange(3), np.arange(2), indexing="ij"), strict=True):
        np.testing.assert_array_equal(x.cpu().numpy(), e)
    x, y = torch.broadcast_tensors(torch.ones(3, 1, device=device), torch.zeros(4, device=device))
    assert x.shape == y.shape == (3, 4)


def test_wrong_shapes(torch, device):
    with pytest.raises(RuntimeError):
        torch.cat([torch.ones(2, 3, device=device), torch.ones(3, 3, device=device)], 1)
    with pytest.raises(RuntimeError):
        torch.stack([torch.ones(2, device=device), torch.ones(3, device=device)])
