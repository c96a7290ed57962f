"""Gradients of norms on a GPU: of the input and of the weights in one launch, whose sums have the
same bits on any stream and in a graph; and added in place to what the input's gradient is already,
as that of a residual, with the bits of an addition, whoever looks.
"""

import flambeau as torch
import pytest
from flambeau.nn import functional as F
from flambeau.profiler import profile

DTYPES = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
TOLERANCE = {torch.float64: 1e-11, torch.float32: 1e-4, torch.float16: 2e-2, torch.bfloat16: 0.2}
ADDITION = "add_kernel"


def drawn(*sizes, seed):
    made = torch.Generator().manual_seed(seed)
    return torch.randn(*sizes, generator=made, dtype=torch.float64)


def layer_norm(x, w, b):
    return F.layer_norm(x, (x.shape[-1],), w, b)


def rms_norm(x, w, b):
    return F.rms_norm(x, (x.shape[-1],), w) + b


NORMS = (layer_norm, rms_norm)


class Residual:
    """2 (x + tanh(norm(x))), of an x that an operation made."""

    def __init__(self, norm, device, dtype, rounded=None, sizes=(2, 5, 24)):
        def there(t):
            return t.to(rounded or dtype).to(device, dtype)

        width = sizes[-1]
        made = (drawn(*sizes, seed=0), drawn(width, seed=1), drawn(width, seed=2))
        self.leaves = [there(t).requires_grad_() for t in made]
        self.dy = there(drawn(*sizes, seed=3))
        self.norm = norm
        self.forward()

    def forward(self):
        leaf, w, b = self.leaves
        self.x = leaf * 0.5
        self.normed = self.norm(self.x, w, b)
        self.sum = self.x + torch.tanh(self.normed)
        self.y = self.sum * 2

    def gradients(self, *more, **options):
        """By all leaves and `more`, and the names of what was launched."""
        with profile() as found:
            slopes = torch.autograd.grad(self.y, [*self.leaves, *more], self.dy, **options)
        return slopes, [k.name for e in found.events() for k in e.kernels]


def same(found, wanted):
    return all(bool((a == b).all()) for a, b in zip(found, wanted, strict=True))


def check(found, wanted, tolerance):
    for ours, ideal in zip(found, wanted, strict=True):
        allowed = tolerance * max(float(ideal.abs().max()), 1)
        torch.testing.assert_close(ours.detach().cpu().double(), ideal, rtol=0, atol=allowed)


def on_standin(request):
    return request.config.getoption("--device") == "standin"


def watch_the_norm(net):
    """Somebody sees what the norm alone makes."""
    node = net.normed.grad_fn
    while "Norm" not in node.name():
        node = node.next_functions[0][0]
    node.register_hook(lambda dx, dy: None)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("norm", NORMS)
def test_a_residuals_gradient_is_added_to_in_place(norm, dtype, device, request):
    net = Residual(norm, device, dtype)
    found, names = net.gradients(retain_graph=True)
    ideal = Residual(norm, "cpu", torch.float64, rounded=dtype).gradients()[0]
    check(found, ideal, TOLERANCE[dtype])
    watch_the_norm(net)
    alone, more = net.gradients()
    assert same(found, alone)
    if on_standin(request):
        assert ADDITION not in names
        assert more.count(ADDITION) == 1


@pytest.mark.parametrize("norm", NORMS)
def test_who_looks_at_the_input_sees_the_sum(norm, device):
    ideal = Residual(norm, "cpu", torch.float64)
    wanted = ideal.gradients(ideal.x)[0][-1:]
    net, seen = Residual(norm, device, torch.float32), []
    net.x.register_hook(seen.append)
    check(net.gradients(net.x, retain_graph=True)[0][-1:], wanted, 1e-4)
    check(seen, wanted, 1e-4)
    net.x.retain_grad()
    net.y.backward(net.dy)
    check([net.x.grad], wanted, 1e-4)


def test_a_gradient_that_others_hold_stays(device):
    """A hook keeps the residual's gradient, which the norm must not write to."""
    net, kept = Residual(layer_norm, device, torch.float32), []
    net.sum.register_hook(kept.append)
    found, _ = net.gradients()
    check(found, Residual(layer_norm, "cpu", torch.float64).gradients()[0], 1e-4)
    assert same(kept, [net.dy * 2])


def test_gradients_of_gradients(device):
    def second(to, dtype):
        net = Residual(layer_norm, to, dtype)
        first = net.gradients(create_graph=True)[0]
        return torch.autograd.grad(sum((g * g).sum() for g in first), net.leaves)

    check(second(device, torch.float32), second("cpu", torch.float64), 1e-3)


def norm_launches(net):
    return [n for n in net.gradients()[1] if "norm" in n]


def test_sums_over_many_rows_take_no_launch_of_their_own(device, request):
    if not on_standin(request):
        pytest.skip("the stand-in alone says what was launched, and no more")
    for dtype in DTYPES:
        for norm in NORMS:
            net = Residual(norm, device, dtype, sizes=(3000, 64))
            assert len(norm_launches(net)) == 1
    assert len(norm_launches(Residual(layer_norm, device, torch.float32, sizes=(30, 31)))) > 1


def on_a_gpu(request):
    if request.config.getoption("--device") not in ("cuda", "standin"):
        pytest.skip("only GPUs have such streams and graphs")


@pytest.mark.parametrize("norm", NORMS)
def test_streams_and_graphs_have_the_same_bits(norm, device, request):
    on_a_gpu(request)
    wanted = Residual(norm, device, torch.float32, sizes=(3000, 64)).gradients()[0]
    streams, found = [torch.cuda.Stream() for _ in range(3)], []
    torch.cuda.synchronize()
    for stream in streams:
        with torch.cuda.stream(stream):
            found.append(Residual(norm, device, torch.float32, sizes=(3000, 64)).gradients()[0])
    torch.cuda.synchronize()
    assert all(same(slopes, wanted) for slopes in found)
    graph, net = torch.cuda.CUDAGraph(), Residual(norm, device, torch.float32, sizes=(3000, 64))
    with torch.cuda.graph(graph):
        net.forward()
        replayed = torch.autograd.grad(net.y, net.leaves, net.dy)
    graph.replay()
    torch.cuda.synchronize()
    assert same(replayed, wanted)
