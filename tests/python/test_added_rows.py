"""Gradients of rows that were looked up, on a GPU: one launch makes all of them, without zeros
before or halves that are widened; what a broadcast got comes to it unsummed, where nobody sees what
goes from the one to the other. And a pass that begins at a mean makes no tensor of 1.
"""

import flambeau as torch
import pytest
from flambeau.nn import functional as F
from flambeau.profiler import profile

TOLERANCE = {torch.float64: 1e-14, torch.float32: 1e-6, torch.float16: 2e-3, torch.bfloat16: 2e-2}
ROWS, WIDTH, LENGTH = 11, 8, 6
CODES = torch.arange(4 * LENGTH).view(4, LENGTH) * 7 % ROWS


def drawn(*sizes, seed):
    made = torch.Generator().manual_seed(seed)
    return torch.randn(*sizes, generator=made)


DY = drawn(4, LENGTH, WIDTH, seed=3)


class Lookup:
    """Rows of tokens and of places, and their sum."""

    def __init__(self, device, dtype, rounded=None, **options):
        def there(t):
            return t.detach().to(rounded or dtype).to(device, dtype)

        tables = drawn(ROWS, WIDTH, seed=0), drawn(LENGTH + 2, WIDTH, seed=1)
        self.leaves = [there(t).requires_grad_() for t in tables]
        self.dy = there(DY)
        self.own = F.embedding(CODES.to(device), self.leaves[0], **options)
        self.places = F.embedding(torch.arange(LENGTH, device=device), self.leaves[1])
        self.y = self.own + self.places

    def gradients(self, *more, **options):
        with profile() as found:
            slopes = torch.autograd.grad(self.y, [*self.leaves, *more], self.dy, **options)
        return slopes, [k.name for e in found.events() for k in e.kernels]


def exact(dtype, *more, **options):
    net = Lookup("cpu", torch.float64, dtype, **options)
    return net.gradients(*[getattr(net, name) for name in more])[0]


def check(found, wanted, dtype):
    for ours, ideal in zip(found, wanted, strict=True):
        allowed = TOLERANCE[dtype] * float(ideal.abs().max())
        torch.testing.assert_close(ours.detach().cpu().double(), ideal, rtol=0, atol=allowed)


def on_standin(request):
    return request.config.getoption("--device") == "standin"


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("options", [{}, {"padding_idx": 3}], ids=str)
def test_each_table_has_one_launch(options, dtype, device, request):
    found, names = Lookup(device, dtype, **options).gradients()
    check(found, exact(dtype, **options), dtype)
    if on_standin(request):
        assert names == ["index_add_kernel"] * 2, names


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
def test_rows_that_were_selected(dtype, device, request):
    at = CODES.view(-1)

    def slope(to, rounded=None):
        x = drawn(ROWS, 2, 3, seed=5).to(dtype).to(to, rounded or dtype).requires_grad_()
        y = x.index_select(0, at.to(to))
        dy = drawn(at.numel(), 2, 3, seed=6).to(dtype).to(to, rounded or dtype)
        with profile() as found:
            dx = torch.autograd.grad(y, x, dy)
        return dx, [k.name for e in found.events() for k in e.kernels]

    found, names = slope(device)
    check(found, slope("cpu", torch.float64)[0], dtype)
    if on_standin(request):
        assert names == ["index_add_kernel"], names


def watch_by_hook(net):
    net.seen = []
    net.places.register_hook(net.seen.append)


def watch_by_node(net):
    net.seen = []
    net.places.grad_fn.register_prehook(lambda dy: net.seen.append(dy[0]))


def watch_by_retaining(net):
    net.places.retain_grad()


@pytest.mark.parametrize("watch", [watch_by_hook, watch_by_node, watch_by_retaining])
def test_who_looks_sees_the_sum(watch, device, request):
    net = Lookup(device, torch.float32)
    watch(net)
    found, names = net.gradients()
    *wanted, between = exact(torch.float32, "places")
    check(found, wanted, torch.float32)
    seen = net.places.grad if watch is watch_by_retaining else net.seen[0]
    assert seen.shape == (LENGTH, WIDTH)
    check([seen], [between], torch.float32)
    if on_standin(request):
        assert "sum_kernel" in names


def test_hooks_that_come_late_see_the_sum(device):
    """Its gradient waits unsummed while that of the other lookup, recorded after it, is watched."""

    net, seen = Lookup(device, torch.float32), []
    net.own = F.embedding(CODES.to(device), net.leaves[0])
    net.y = net.own + net.places
    net.own.register_hook(lambda dy: net.places.register_hook(seen.append) and None)
    check(net.gradients()[0], exact(torch.float32), torch.float32)
    assert [dy.shape for dy in seen] == [(LENGTH, WIDTH)]
    check(seen, exact(torch.float32, "places")[2:], torch.float32)


@pytest.mark.parametrize("terms", [60, 500])
def test_sums_of_one_sign_are_within_an_ulp(terms, device, request):
    table = drawn(LENGTH, WIDTH, seed=1).to(device).requires_grad_()
    dy = torch.rand(terms, LENGTH, WIDTH, generator=torch.Generator().manual_seed(2)) + 0.5
    places = F.embedding(torch.arange(LENGTH, device=device), table)
    y, there = torch.zeros(dy.shape, device=device) + places, dy.to(device)
    with profile() as found:
        (slope,) = torch.autograd.grad(y, table, there)
    if on_standin(request):
        assert [k.name for e in found.events() for k in e.kernels] == ["index_add_kernel"]
    wanted = dy.double().sum(0)
    ulp = 2.0 ** (torch.floor(torch.log2(wanted)) - 23)
    assert bool(((slope.cpu().double() - wanted).abs() <= ulp).all())


def test_halves_of_few_rows_take_the_gradient_alone(device):
    """Of a table of which little is named: no copy in f32, which would be twice the gradient."""
    if device == "cpu":
        pytest.skip("memory of the host is not counted so")
    table = torch.zeros(20000, 64, device=device, dtype=torch.bfloat16, requires_grad=True)
    y = F.embedding(torch.arange(64, device=device), table)
    dy = torch.ones(64, 64, device=device, dtype=torch.bfloat16)
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    (slope,) = torch.autograd.grad(y, table, dy)
    torch.cuda.synchronize()
    assert torch.cuda.max_memory_allocated() - before < 1.1 * 2 * table.numel()
    assert float(slope.double().sum()) == 64 * 64


def test_what_is_asked_for_is_the_sum(device):
    net = Lookup(device, torch.float32)
    found, _ = net.gradients(net.places, retain_graph=True)
    check(found, exact(torch.float32, "places"), torch.float32)
    check(net.gradients()[0], exact(torch.float32), torch.float32)


def test_a_second_user_gets_the_sum(device):
    def used_twice(to, dtype):
        net = Lookup(to, dtype)
        net.y = net.y + net.places.sin().sum()
        return net.gradients()[0]

    check(used_twice(device, torch.float32), used_twice("cpu", torch.float64), torch.float32)


def test_gradients_of_gradients(device):
    def second(to, dtype):
        net = Lookup(to, dtype)
        net.y, net.dy = net.y.sin(), net.dy.requires_grad_()
        first = net.gradients(create_graph=True)[0]
        return torch.autograd.grad(sum((g * g).sum() for g in first), [*net.leaves, net.dy])

    check(second(device, torch.float32), second("cpu", torch.float64), torch.float16)


def test_anomalies_are_looked_for_in_each_function(device):
    net = Lookup(device, torch.float32)
    with pytest.warns(UserWarning, match="Anomaly Detection"), torch.autograd.detect_anomaly():
        found, _ = net.gradients()
    check(found, exact(torch.float32), torch.float32)


def test_a_table_that_is_no_lookup_gets_the_sum(device):
    table = drawn(LENGTH, WIDTH, seed=4).to(device).requires_grad_()
    (slope,) = torch.autograd.grad(DY.to(device) + table, table, DY.to(device))
    torch.testing.assert_close(slope.cpu(), DY.sum(0), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
def test_a_pass_begins_at_a_mean(dtype, device, request):
    x = drawn(3, 5, seed=7).to(device, dtype).requires_grad_()
    with profile() as found:
        x.mean().backward()
    share = torch.tensor(1 / 15, dtype=torch.float64).to(dtype)
    assert bool((x.grad.cpu() == share).all()) and x.grad.is_contiguous()
    names = [k.name for e in found.events() for k in e.kernels]
    if on_standin(request):  # the mean, the number, and what the leaf keeps of it
        assert len(names) == 3, names


def test_a_mean_that_is_watched_begins_at_one(device):
    x, seen = drawn(3, 5, seed=7).to(device).requires_grad_(), []
    y = x.mean()
    y.register_hook(lambda dy: seen.append(float(dy)) or 3 * dy)
    y.backward()
    assert seen == [1]
    torch.testing.assert_close(x.grad.cpu(), torch.full((3, 5), 0.2))
