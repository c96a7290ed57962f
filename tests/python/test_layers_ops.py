"""Products, convolutions, pools and normalisations: values against NumPy by definition, first and
second derivatives against differences, in float64.
"""

import numpy as np
import pytest


def conv2d(x, w, b, stride, padding):
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], (2, 3))
    y = np.einsum("nchwij,ocij->nohw", windows[:, :, ::stride, ::stride], w)
    return y + b[None, :, None, None]


def pool(x, fold):
    windows = np.lib.stride_tricks.sliding_window_view(x, (2, 2), (2, 3))[:, :, ::2, ::2]
    return fold(windows, (-2, -1))


def batch_norm(x, w, b):
    mean, var = x.mean((0, 2, 3), keepdims=True), x.var((0, 2, 3), keepdims=True)
    y = (x - mean) / np.sqrt(var + 1e-5)
    return y * w[None, :, None, None] + b[None, :, None, None]


def layer_norm(x, w, b):
    mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) / np.sqrt(var + 1e-5) * w + b


IMAGE = (2, 3, 5, 5)
CASES = {
    "matmul": (lambda F, a, b: a @ b, lambda a, b: a @ b, [(2, 3, 4), (4, 5)]),
    "batched": (lambda F, a, b: a @ b, lambda a, b: a @ b, [(2, 1, 3, 4), (3, 4, 2)]),
    "vector": (lambda F, a, b: a @ b, lambda a, b: a @ b, [(3, 4), (4,)]),
    "addmm": (
        lambda F, c, a, b: c.addmm(a, b, beta=0.5, alpha=2),
        lambda c, a, b: 0.5 * c + 2 * a @ b,
        [(5,), (3, 4), (4, 5)],
    ),
    "linear": (
        lambda F, x, w, b: F.linear(x, w, b),
        lambda x, w, b: x @ w.T + b,
        [(2, 3, 4), (5, 4), (5,)],
    ),
    "conv2d": (
        lambda F, x, w, b: F.conv2d(x, w, b, stride=2, padding=1),
        lambda x, w, b: conv2d(x, w, b, 2, 1),
        [IMAGE, (4, 3, 3, 3), (4,)],
    ),
    "conv2d plain": (
        lambda F, x, w, b: F.conv2d(x, w, b),
        lambda x, w, b: conv2d(x, w, b, 1, 0),
        [IMAGE, (4, 3, 2, 3), (4,)],
    ),
    "max_pool2d": (lambda F, x: F.max_pool2d(x, 2), lambda x: pool(x, np.max), [IMAGE]),
    "avg_pool2d": (lambda F, x: F.avg_pool2d(x, 2), lambda x: pool(x, np.mean), [IMAGE]),
    "adaptive": (
        lambda F, x: F.adaptive_avg_pool2d(x, 1),
        lambda x: x.mean((2, 3), keepdims=True),
        [IMAGE],
    ),
    "batch_norm": (
        lambda F, x, w, b: F.batch_norm(x, None, None, w, b, training=True),
        batch_norm,
        [IMAGE, (3,), (3,)],
    ),
    "layer_norm": (
        lambda F, x, w, b: F.layer_norm(x, (4,), w, b),
        layer_norm,
        [(3, 4), (4,), (4,)],
    ),
}


def case(torch, device, name):
    ours, theirs, shapes = CASES[name]
    rng = np.random.default_rng(5)
    inputs = [rng.standard_normal(s) for s in shapes]
    tensors = [torch.tensor(a, device=device, requires_grad=True) for a in inputs]
    return lambda *xs: ours(torch.nn.functional, *xs), theirs, inputs, tensors


@pytest.mark.parametrize("name", CASES)
def test_values(torch, device, name):
    ours, theirs, inputs, tensors = case(torch, device, name)
    y = ours(*tensors).detach().cpu().numpy()
    np.testing.assert_allclose(y, theirs(*inputs), rtol=1e-9, atol=1e-9)


def directional(f, inputs, directions, h=1e-6):
    up = f(*[a + h * d for a, d in zip(inputs, directions, strict=True)])
    down = f(*[a - h * d for a, d in zip(inputs, directions, strict=True)])
    return (up - down) / (2 * h)


@pytest.mark.parametrize("name", CASES)
def test_derivatives(torch, device, name):
    ours, theirs, inputs, tensors = case(torch, device, name)
    rng = np.random.default_rng(6)
    along = [rng.standard_normal(a.shape) for a in inputs]
    weights = rng.standard_normal(theirs(*inputs).shape)

    def first(*arrays):
        xs = [torch.tensor(a, device=device, requires_grad=True) for a in arrays]
        y = (ours(*xs) * torch.tensor(weights, device=device)).sum()
        return xs, torch.autograd.grad(y, xs, create_graph=True)

    def slope(*arrays):
        _, grads = first(*arrays)
        return sum((g.detach().cpu().numpy() * d).sum() for g, d in zip(grads, along, strict=True))

    numeric = directional(lambda *a: (theirs(*a) * weights).sum(), inputs, along)
    np.testing.assert_allclose(slope(*inputs), numeric, rtol=1e-5, atol=1e-6)

    xs, grads = first(*inputs)
    total = sum(
        (g * torch.tensor(d, device=device)).sum() for g, d in zip(grads, along, strict=True)
    )
    if not total.requires_grad:  # linear in every operand: nothing more to differentiate
        return
    second = torch.autograd.grad(total, xs, allow_unused=True)
    exact = sum(
        (g.cpu().numpy() * d).sum() for g, d in zip(second, along, strict=True) if g is not None
    )
    np.testing.assert_allclose(exact, directional(slope, inputs, along), rtol=1e-4, atol=1e-5)


def test_wrong_shapes(torch, device):
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        torch.ones(2, 3, device=device) @ torch.ones(4, 5, device=device)
    with pytest.raises(RuntimeError):
        torch.nn.functional.conv2d(
            torch.ones(1, 3, 4, 4, device=device), torch.ones(2, 4, 3, 3, device=device)
        )
