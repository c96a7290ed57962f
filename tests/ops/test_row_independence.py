"""The bits of a row depend on no other row and on no work before: neither a NaN elsewhere nor what
a buffer held earlier changes how it is added."""

import flambeau as torch
import pytest

F = torch.nn.functional
# Rows side by side and by themselves; more than a tile of them and a rest.
SHAPES = [((300, 20), 0), ((300, 40), 0), ((300, 100), 0), ((700, 47), 0), ((70, 100), 1)]


def gradient(function, x, dim):
    x = x.detach().requires_grad_()
    y = function(x, dim)
    (slope,) = torch.autograd.grad(y, x, torch.cos(3 * x.detach()))
    return slope


def normed(x, dim):
    return F.layer_norm(x.movedim(dim, -1), (x.shape[dim],)).movedim(-1, dim)


CALLS = {
    "softmax": torch.softmax,
    "log_softmax": torch.log_softmax,
    "softmax backward": lambda x, dim: gradient(torch.softmax, x, dim),
    "log_softmax backward": lambda x, dim: gradient(torch.log_softmax, x, dim),
    "logsumexp": lambda x, dim: torch.logsumexp(x, dim, keepdim=True),
    "layer norm": normed,
    "layer norm backward": lambda x, dim: gradient(normed, x, dim),
    "sum": lambda x, dim: x.sum(dim, keepdim=True),
}


def bits(t):
    return t.detach().cpu().numpy().tobytes()


@pytest.mark.parametrize("shape, dim", SHAPES, ids=str)
@pytest.mark.parametrize("name", CALLS)
def test_earlier_work_changes_nothing(name, shape, dim, device):
    call = CALLS[name]
    torch.manual_seed(0)
    x = torch.randn(shape, device=device)
    found = set()
    for before in (0.0, float("nan"), 1e38):
        call(torch.full(shape, before, device=device), dim)
        found.add(bits(call(x, dim)))
    assert len(found) == 1


@pytest.mark.parametrize("shape, dim", SHAPES, ids=str)
@pytest.mark.parametrize("name", CALLS)
def test_other_rows_change_nothing(name, shape, dim, device):
    call = CALLS[name]
    torch.manual_seed(0)
    x = torch.randn(shape, device=device)
    y = x.clone()
    y.select(1 - dim, 5)[3] = float("nan")
    clean, other = (call(t, dim).movedim(1 - dim, 0) for t in (x, y))
    kept = [i for i in range(clean.shape[0]) if i != 5]
    assert bits(clean[kept]) == bits(other[kept])
