"""A ReLU behind batch norms on a GPU, an addition between or not: their gradients mask what the
ReLU would, as they read it, where nobody sees the gradient between; results are the same, whoever
looks.
"""

import flambeau as torch
import pytest
from flambeau.nn import functional as F
from flambeau.profiler import profile

SLOPE = "relu_backward_kernel"
DTYPES = [torch.float32, torch.float16, torch.bfloat16]
CHANNELS, SIZES = 5, (3, 5, 4, 6)


def drawn(*sizes, seed):
    made = torch.Generator().manual_seed(seed)
    return torch.randn(sizes, generator=made)


class Net:
    """relu(norm(x)), or with two norms the ReLU of their sum, times dy."""

    def __init__(self, device, dtype, norms, inplace=True):
        def leaf(*sizes, seed):
            return drawn(*sizes, seed=seed).to(dtype).to(device).requires_grad_()

        self.x = [leaf(*SIZES, seed=i) for i in range(norms)]
        self.affine = [leaf(CHANNELS, seed=9 + i) for i in range(2)]
        self.normed = [F.batch_norm(x, None, None, *self.affine, training=True) for x in self.x]
        self.before = self.normed[0]
        if norms == 2:
            self.before = self.normed[0] + self.normed[1]
        self.y = F.relu_(self.before) if inplace else F.relu(self.before)
        self.dy = drawn(*SIZES, seed=20).to(dtype).to(device)

    def gradients(self, *more, **options):
        """By all leaves and `more`, and the names of what was launched."""
        with profile() as found:
            leaves = [*self.x, *self.affine, *more]
            slopes = torch.autograd.grad(self.y, leaves, self.dy, **options)
        return slopes, [k.name for e in found.events() for k in e.kernels]


def on_standin(request):
    return request.config.getoption("--device") == "standin"


def same(found, wanted):
    assert all(torch.equal(a, b) for a, b in zip(found, wanted, strict=True))


def plain(device, dtype, norms, **options):
    """The same gradients with the ReLU's own pass, which a hook makes it take."""
    net = Net(device, dtype, norms, **options)
    net.y.grad_fn.register_hook(lambda dx, dy: None)
    found, names = net.gradients()
    return found, names


@pytest.mark.parametrize("inplace", [True, False])
@pytest.mark.parametrize("norms", [1, 2])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_norms_mask_what_the_relu_leaves(dtype, norms, inplace, device, request):
    wanted, with_pass = plain(device, dtype, norms, inplace=inplace)
    net = Net(device, dtype, norms, inplace)
    found, names = net.gradients(retain_graph=True)
    same(found, wanted)
    same(net.gradients()[0], wanted)  # the graph was kept, and what it saved
    cpu = Net("cpu", torch.float32, norms, inplace)
    tolerance = {torch.float32: 1e-5, torch.float16: 2e-2, torch.bfloat16: 2e-1}[dtype]
    for a, b in zip(found, cpu.gradients()[0], strict=True):
        torch.testing.assert_close(a.cpu().float(), b, rtol=tolerance, atol=20 * tolerance)
    if on_standin(request):
        assert SLOPE in with_pass and SLOPE not in names


@pytest.mark.parametrize("over", [None, (2, 3)])
@pytest.mark.parametrize("norms", [1, 2])
def test_gradients_of_means_are_read_where_they_are(norms, over, device, request):
    net = Net(device, torch.float32, norms)
    net.y = net.y.mean() if over is None else net.y.mean(over)
    net.dy = drawn(*net.y.shape, seed=21).to(device)
    found, names = net.gradients()
    cpu = Net("cpu", torch.float32, norms)
    cpu.y, cpu.dy = cpu.y.mean() if over is None else cpu.y.mean(over), net.dy.cpu()
    for a, b in zip(found, cpu.gradients()[0], strict=True):
        torch.testing.assert_close(a.cpu(), b, rtol=1e-4, atol=1e-5)
    assert not on_standin(request) or not {SLOPE, "to_kernel"} & set(names), names


def watch_by_hook(net):
    net.seen = []
    net.normed[0].register_hook(net.seen.append)


def watch_by_node(net):
    net.seen = []
    net.before.grad_fn.register_prehook(lambda dy: net.seen.append(dy[0]))


def watch_by_retaining(net):
    net.normed[0].retain_grad()


@pytest.mark.parametrize("norms", [1, 2])
@pytest.mark.parametrize("watch", [watch_by_hook, watch_by_node, watch_by_retaining])
def test_who_looks_sees_the_gradient_between(watch, norms, device):
    net = Net(device, torch.float32, norms, inplace=False)
    watch(net)
    found, _ = net.gradients()
    same(found, plain(device, torch.float32, norms)[0])
    between = torch.where(net.y > 0, net.dy, torch.zeros_like(net.dy))
    seen = [net.normed[0].grad] if watch is watch_by_retaining else net.seen
    if seen[0] is not None:
        same(seen, [between])


def test_a_hook_may_come_while_the_pass_runs(device):
    """Its gradient is masked before it sees it."""
    net, seen = Net(device, torch.float32, 2, inplace=False), []
    first, second = net.normed  # the second, which was made later, gets its gradient first
    net.x[1].register_hook(lambda dx: first.register_hook(seen.append) and None)
    same(net.gradients()[0], plain(device, torch.float32, 2)[0])
    same(seen, [torch.where(net.y > 0, net.dy, torch.zeros_like(net.dy))])


def test_the_gradient_between_is_what_is_asked_for(device):
    net = Net(device, torch.float32, 2, inplace=False)
    *found, between = net.gradients(net.normed[0])[0]
    same(found, plain(device, torch.float32, 2)[0])
    same([between], [torch.where(net.y > 0, net.dy, torch.zeros_like(net.dy))])


def test_others_that_get_the_gradient_get_it_masked(device, request):
    """The sum's other operand is a leaf, which keeps what it gets."""
    net = Net(device, torch.float32, 1)
    other = drawn(*SIZES, seed=3).to(device).requires_grad_()
    norm = F.batch_norm(net.x[0], None, None, *net.affine, training=True)
    net.y = F.relu(norm + other)
    (*_, found), names = net.gradients(other)
    same([found], [torch.where(net.y > 0, net.dy, torch.zeros_like(net.dy))])
    assert SLOPE in names or not on_standin(request)


def test_gradients_of_gradients(device):
    def second(to):
        net = Net(to, torch.float32, 2, inplace=False)
        first = net.gradients(create_graph=True)[0]
        return torch.autograd.grad(sum((g * g).sum() for g in first), net.x)

    for a, b in zip(second(device), second("cpu"), strict=True):
        torch.testing.assert_close(a.cpu(), b, rtol=1e-3, atol=1e-2)


def test_a_result_that_is_overwritten_meanwhile_is_told_of(device, request):
    net = Net(device, torch.float32, 2, inplace=False)
    result = net.y.detach()

    def overwrite(dx):
        result.add_(1)

    net.x[1].register_hook(overwrite)
    if not on_standin(request):
        return
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        net.gradients()


def test_tracked_batches_are_counted_by_the_norm_itself(device, request):
    norm = torch.nn.BatchNorm2d(CHANNELS).to(device)
    x = drawn(*SIZES, seed=1).to(device)
    with profile() as found:
        for _ in range(3):
            norm(x)
    assert norm.num_batches_tracked.item() == 3
    names = [k.name for e in found.events() for k in e.kernels]
    assert not on_standin(request) or not any("add" in name for name in names)
    norm.eval()(x)
    assert norm.num_batches_tracked.item() == 3
