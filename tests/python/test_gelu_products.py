"""The slope of a GELU (by tanh) between two layers on a GPU: the product that makes its gradient
multiplies by it in the same pass, where nobody sees the gradient between; results are those of
float64, whoever looks.
"""

import flambeau as torch
import pytest
from flambeau.nn import functional as F
from flambeau.profiler import profile

TOLERANCE = {torch.float16: 4e-3, torch.bfloat16: 3e-2, "tf32": 2e-3, torch.float32: 2e-6}
SLOPE = "gelu_backward_kernel"


@pytest.fixture
def tf32():
    """Sets whether f32 may be rounded, for the time of a test."""

    def allow(value):
        torch.backends.cuda.matmul.allow_tf32 = value

    yield allow
    allow(False)


def drawn(*sizes, seed):
    made = torch.Generator().manual_seed(seed)
    return torch.randn(*sizes, generator=made) / 2


OPERANDS = (
    drawn(2, 5, 8, seed=0),
    drawn(24, 8, seed=1),
    drawn(24, seed=2),
    drawn(6, 24, seed=3),
    drawn(6, seed=4),
)
DY = drawn(2, 5, 6, seed=5)


class Net:
    """Two layers with a GELU between, of operands that are rounded to `rounded` first."""

    def __init__(self, device, dtype, rounded=None):
        def there(t):
            return t.detach().to(rounded or dtype).to(device, dtype)

        self.leaves = [there(t).requires_grad_() for t in OPERANDS]
        self.dy = there(DY)
        x, w1, b1, w2, b2 = self.leaves
        self.before = F.linear(x, w1, b1)
        self.active = F.gelu(self.before, approximate="tanh")
        self.y = F.linear(self.active, w2, b2)

    def gradients(self, *more, **options):
        """By all leaves and `more`, and the names of what was launched."""
        with profile() as found:
            slopes = torch.autograd.grad(self.y, [*self.leaves, *more], self.dy, **options)
        return slopes, [k.name for e in found.events() for k in e.kernels]


def launches_of(net, **options):
    return net.gradients(retain_graph=True, **options)[1]


def check(found, wanted, tolerance=TOLERANCE[torch.float16]):
    for ours, ideal in zip(found, wanted, strict=True):
        allowed = tolerance * float(ideal.abs().max())
        torch.testing.assert_close(ours.detach().cpu().double(), ideal, rtol=0, atol=allowed)


def exact(dtype=torch.float16, more=False):
    net = Net("cpu", torch.float64, rounded=dtype)
    return net.gradients(*([net.active] if more else []))[0]


def on_standin(request):
    return request.config.getoption("--device") == "standin"


@pytest.mark.parametrize("kind", TOLERANCE, ids=str)
def test_the_product_multiplies_by_the_slope(kind, device, request, tf32):
    tf32(kind == "tf32")
    dtype = torch.float32 if kind == "tf32" else kind
    net = Net(device, dtype)
    found, names = net.gradients(retain_graph=True)
    check(found, exact(dtype), TOLERANCE[kind])
    again, _ = net.gradients()  # the graph was kept, and what it saved
    assert all(bool((a == b).all()) for a, b in zip(found, again, strict=True))
    if on_standin(request):  # the library's GELU does not promise f32's digits
        assert (SLOPE in names) == (kind == torch.float32), names


def test_a_step_takes_one_launch_less_and_no_more_memory(device, request):
    if not on_standin(request):
        pytest.skip("the stand-in alone says what was launched, and no more")
    counts, peaks = [], []
    for watched in (False, True):
        net = Net(device, torch.float16)
        if watched:
            net.active.register_hook(lambda dy: None)
        torch.cuda.reset_peak_memory_stats()
        counts.append(len(launches_of(net)))
        peaks.append(torch.cuda.max_memory_allocated())
    assert counts[0] == counts[1] - 1
    assert peaks[0] <= peaks[1]


def test_the_exact_gelu_is_not_the_librarys(device, request):
    net = Net(device, torch.float16)
    x, w1, b1, w2, b2 = net.leaves
    net.y = F.linear(F.gelu(F.linear(x, w1, b1)), w2, b2)
    assert SLOPE in launches_of(net) or not on_standin(request)


def watch_by_hook(net):
    net.seen = []
    net.active.register_hook(net.seen.append)


def watch_by_node(net):
    net.seen = []
    net.active.grad_fn.register_prehook(lambda dy: net.seen.append(dy[0]))


def watch_the_layer(net):
    net.seen = []
    net.y.grad_fn.register_hook(lambda dx, dy: net.seen.append(next(g for g in dx if g.dim() == 3)))


def watch_by_retaining(net):
    net.active.retain_grad()


@pytest.mark.parametrize(
    "watch", [watch_by_hook, watch_by_node, watch_the_layer, watch_by_retaining]
)
def test_who_looks_sees_the_gradient_between(watch, device, request):
    net = Net(device, torch.float16)
    watch(net)
    found, names = net.gradients()
    *wanted, between = exact(more=True)
    check(found, wanted)
    seen = [net.active.grad] if watch is watch_by_retaining else net.seen
    if watch is not watch_by_retaining or seen[0] is not None:
        check(seen, [between])
    if on_standin(request):
        assert SLOPE in names


def test_what_hooks_keep_is_asked_for_once(device):
    """By the GELU, whose value it is, and not by the layer before."""
    asked = []

    def unpack(x):
        asked.append(tuple(x.shape))
        return x

    with torch.autograd.graph.saved_tensors_hooks(lambda x: x, unpack):
        net = Net(device, torch.float16)
    check(net.gradients()[0], exact())
    assert sorted(asked) == sorted([(2, 5, 24), (6, 24), (2, 5, 24), (2, 5, 8), (24, 8)])


def test_anomalies_are_looked_for_in_each_function(device, request):
    net = Net(device, torch.float16)
    with pytest.warns(UserWarning, match="Anomaly Detection"), torch.autograd.detect_anomaly():
        found, names = net.gradients()
    check(found, exact())
    assert SLOPE in names or not on_standin(request)


def test_a_pass_within_the_pass_goes_its_own_way(device):
    net = Net(device, torch.float16)
    seen = []

    def again(dy):
        if not seen:
            seen.append(None)
            seen[0] = torch.autograd.grad(net.y, net.leaves[0], net.dy, retain_graph=True)[0]

    net.leaves[3].register_hook(again)  # it runs before the GELU does
    found, _ = net.gradients(retain_graph=True)
    check(found, exact())
    check(seen, exact()[:1])


def test_hooks_that_come_too_late_are_refused(device, request):
    net = Net(device, torch.float16)
    net.leaves[3].register_hook(lambda dy: net.active.register_hook(lambda dy: None) and None)
    if not on_standin(request):
        check(net.gradients()[0], exact())
        return
    with pytest.raises(RuntimeError, match="set it before backward"):
        net.gradients()


def test_a_checkpoint_recomputes_it(device):
    from flambeau.utils.checkpoint import checkpoint

    net = Net(device, torch.float16)
    x, w1, b1, w2, b2 = net.leaves

    def inner(x):
        return F.linear(F.gelu(F.linear(x, w1, b1), approximate="tanh"), w2, b2)

    net.y = checkpoint(inner, x, use_reentrant=False)
    check(net.gradients()[0], exact())


def test_gradients_accumulate_in_leaves(device):
    net = Net(device, torch.float16)
    for _ in range(2):
        net.y.backward(net.dy, retain_graph=True)
    check([t.grad for t in net.leaves], [2 * g for g in exact()], 1e-2)


def test_the_gradient_between_is_what_is_asked_for(device):
    net = Net(device, torch.float16)
    check(net.gradients(net.active, retain_graph=True)[0], exact(more=True))
    check(net.gradients()[0], exact())


def test_a_second_user_of_the_gelu(device):
    def used_twice(to, dtype, rounded=None):
        net = Net(to, dtype, rounded)
        net.y = net.y + net.active.sum()
        return net.gradients()[0]

    check(used_twice(device, torch.float16), used_twice("cpu", torch.float64, torch.float16), 1e-2)


def test_gradients_of_gradients(device):
    def second(to, dtype, rounded=None):
        net = Net(to, dtype, rounded)
        first = net.gradients(create_graph=True)[0]
        return torch.autograd.grad(sum((g * g).sum() for g in first), net.leaves[:3])

    check(second(device, torch.float16), second("cpu", torch.float64, torch.float16), 1e-2)


def test_what_was_overwritten_is_said(device):
    net = Net(device, torch.float16)
    net.before.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        net.gradients()


def test_a_layer_without_rows(device):
    w1, w2 = OPERANDS[1].half().to(device), OPERANDS[3].half().to(device).requires_grad_()
    x = torch.zeros(0, 8, device=device).half().requires_grad_()
    y = F.linear(F.gelu(F.linear(x, w1), approximate="tanh"), w2)
    slopes = torch.autograd.grad(y.sum(), (x, w2))
    assert slopes[0].shape == (0, 8) and not slopes[1].any()
