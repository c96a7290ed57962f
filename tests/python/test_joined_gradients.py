"""Gradients of the parts of one projection: attention lays those of q, k and v beside each other
where q, k and v lie so, and what split them passes all of it on without a copy; values and what
anybody sees are those of parts that are joined by a copy.
"""

import contextlib

import flambeau as torch
import pytest
from flambeau.nn import functional as F
from flambeau.profiler import profile

DTYPES = (torch.float32, torch.float16, torch.bfloat16)
TOLERANCE = {torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 8e-2}
JOINS = {"cat_kernel", "stack_kernel", "to_kernel"}
N, LENGTH, HEADS, WIDTH = 2, 5, 2, 8


def drawn(*sizes, seed):
    made = torch.Generator().manual_seed(seed)
    return torch.randn(*sizes, generator=made, dtype=torch.float64)


def heads(t, count=HEADS):
    return t.view(N, LENGTH, count, -1).transpose(1, 2)


def split(x):
    return [heads(p) for p in x.split(HEADS * WIDTH, dim=2)]


def chunked(x):
    return [heads(p) for p in x.chunk(3, dim=-1)]


def unbound(x):
    return list(x.view(N, LENGTH, 3, HEADS, WIDTH).permute(2, 0, 3, 1, 4).unbind(0))


def within_heads(x):
    return list(heads(x).split(WIDTH, dim=3))


def shared_heads(x):
    q, k, v = x.split([4 * WIDTH, WIDTH, WIDTH], dim=2)
    return [heads(q, 4), heads(k, 1), heads(v, 1)]


CUTS = (split, chunked, unbound, within_heads, shared_heads)


class Net:
    """Attention of what `cut` makes of twice a leaf; `copied`: of copies of the parts."""

    def __init__(self, cut, device, dtype, copied=False, rounded=None):
        def there(t):
            return t.to(rounded or dtype).to(device, dtype)

        self.leaf = there(drawn(N, LENGTH, 3 * HEADS * WIDTH, seed=0)).requires_grad_()
        self.x = self.leaf * 2
        self.parts = cut(self.x)
        if copied:
            self.parts = [p.clone() for p in self.parts]
        q, k, v = self.parts
        self.y = F.scaled_dot_product_attention(
            q, k, v, is_causal=True, enable_gqa=q.shape[1] != k.shape[1]
        )
        self.dy = there(drawn(*self.y.shape, seed=1))

    def gradients(self, *more, **options):
        return torch.autograd.grad(self.y, [self.leaf, *more], self.dy, **options)


def launched(net):
    with profile() as found:
        net.gradients(retain_graph=True)
    return [k.name for e in found.events() for k in e.kernels]


def same(found, wanted):
    return all(bool((a == b).all()) for a, b in zip(found, wanted, strict=True))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("cut", CUTS)
def test_parts_of_a_projection(cut, dtype, device, request):
    net = Net(cut, device, dtype)
    found = net.gradients(retain_graph=True)
    assert same(found, Net(cut, device, dtype, copied=True).gradients())
    ideal = Net(cut, "cpu", torch.float64, rounded=dtype).gradients()[0]
    allowed = TOLERANCE[dtype] * float(ideal.abs().max())
    torch.testing.assert_close(found[0].cpu().double(), ideal, rtol=0, atol=allowed)
    if request.config.getoption("--device") == "standin":
        assert not JOINS.intersection(launched(net))
        assert JOINS.intersection(launched(Net(cut, device, dtype, copied=True)))


def test_who_looks_at_parts_sees_them(device):
    wanted = Net(split, device, torch.float32, copied=True)
    wanted = wanted.gradients(*wanted.parts)
    net, seen = Net(split, device, torch.float32), [[], [], []]
    for part, kept in zip(net.parts, seen, strict=True):
        part.register_hook(kept.append)
    found = net.gradients(*net.parts, retain_graph=True)
    assert same(found, wanted)
    assert same([kept[0] for kept in seen], wanted[1:])
    for part in net.parts:
        part.retain_grad()
    net.y.backward(net.dy)
    assert same([p.grad for p in net.parts], wanted[1:])
    assert same([net.leaf.grad], wanted[:1])
    net.leaf.grad.zero_()
    assert same(found, wanted)
    assert same([p.grad for p in net.parts], wanted[1:])


def tripled(g):
    return g * 3


def tripled_in_place(g):
    g.mul_(3)


@pytest.mark.parametrize("cut", [unbound, within_heads])
def test_results_share_no_memory(cut, device):
    net = Net(cut, device, torch.float32)
    found = net.gradients(net.x, *net.parts)
    kept = [g.clone() for g in found]
    for g in found:
        g.add_(1)
    assert same(found, [g + 1 for g in kept])


@pytest.mark.parametrize("hook", [tripled, tripled_in_place])
@pytest.mark.parametrize("which", range(3))
def test_hooks_change_a_part(hook, which, device):
    slopes = []
    for copied in (False, True):
        net = Net(split, device, torch.float32, copied=copied)
        net.parts[which].register_hook(hook)
        slopes.append(net.gradients()[0])
    assert same(slopes[:1], slopes[1:])
    assert not same(slopes[:1], Net(split, device, torch.float32).gradients())


@pytest.mark.parametrize("which", range(3))
def test_parts_that_others_use(which, device):
    slopes = []
    for copied in (False, True):
        net = Net(split, device, torch.float32, copied=copied)
        y = net.y.sum() + (net.parts[which] ** 2).sum() + net.x.sum()
        slopes.append(torch.autograd.grad(y, net.leaf)[0])
    torch.testing.assert_close(slopes[0], slopes[1])


@pytest.mark.parametrize("which", range(3))
def test_parts_without_a_gradient(which, device):
    """Of one part alone: the others are zeros."""
    net = Net(split, device, torch.float32)
    slope = torch.autograd.grad(net.parts[which].sum(), net.leaf)[0]
    wanted = torch.zeros_like(slope)
    wanted.split(HEADS * WIDTH, dim=2)[which].fill_(2)
    assert same([slope], [wanted])


@pytest.mark.parametrize("cut", CUTS)
def test_gradients_of_gradients(cut, device):
    slopes = []
    for to, dtype in ((device, torch.float32), ("cpu", torch.float64)):
        net = Net(cut, to, dtype)
        (first,) = net.gradients(create_graph=True)
        slopes.append(torch.autograd.grad((first * first).sum(), net.leaf)[0].cpu().double())
    torch.testing.assert_close(slopes[0], slopes[1], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("watch", [torch.autograd.detect_anomaly, contextlib.nullcontext])
def test_passes_twice(watch, device):
    net = Net(split, device, torch.float32)
    with watch():
        net.y.backward(net.dy, retain_graph=True)
        first = net.leaf.grad.clone()
        net.y.backward(net.dy)
    assert same([net.leaf.grad], [first * 2])


def test_parts_that_meet_again(device):
    """What joined the parts passes its own gradient's parts on, which the caller keeps."""
    leaf = drawn(3, 6, seed=2).to(device).requires_grad_()
    dy = drawn(3, 6, seed=3).to(device)
    kept = dy.clone()
    torch.cat(leaf.split(2, dim=1), dim=1).backward(dy)
    assert same([leaf.grad], [kept])
    leaf.grad.zero_()
    assert same([dy], [kept])
