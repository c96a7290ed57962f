"""Cross entropy of class indices on a GPU: the mean or the sum comes with the launch that reads the
logits, is that of float64, and has the same bits on any stream and in a graph; a pass that begins
there at 1 makes no tensor of that, unless somebody looks.
"""

import flambeau as torch
import pytest
from flambeau.nn import functional as F
from flambeau.profiler import profile

DTYPES = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
TOLERANCE = {torch.float64: 1e-13, torch.float32: 2e-6, torch.float16: 1e-3, torch.bfloat16: 8e-3}
SIZES = ((7, 5), (9, 300), (3, 2100), (1, 4), (600, 30), (2, 6, 5, 3), (10,))


def drawn(*sizes, seed):
    made = torch.Generator().manual_seed(seed)
    return torch.randn(*sizes, generator=made, dtype=torch.float64)


class Loss:
    """Of some sizes, the classes along dimension 1; a fifth of the targets count for nothing."""

    def __init__(self, sizes, device, dtype, weighted=False, rounded=None, **options):
        def there(t):
            return t.to(rounded or dtype).to(device, dtype)

        along = 1 if len(sizes) > 1 else 0
        classes, rest = sizes[along], sizes[:along] + sizes[along + 1 :]
        count = torch.arange(max(torch.Size(rest).numel(), 1))
        target = torch.where(count % 5 == 3, -100, count * 7919 % classes).view(rest)
        self.x = there(drawn(*sizes, seed=0)).requires_grad_()
        self.target = target.to(device)
        self.options = options
        if weighted:
            self.options["weight"] = there(drawn(classes, seed=1).abs() + 0.5)

    def __call__(self):
        return F.cross_entropy(self.x, self.target, **self.options)

    def with_slope(self):
        y = self()
        return y.detach(), torch.autograd.grad(y, self.x)[0]


def on_standin(request):
    return request.config.getoption("--device") == "standin"


FORMS = (
    {},
    {"reduction": "sum"},
    {"weighted": True},
    {"weighted": True, "reduction": "sum", "label_smoothing": 0.1},
    {"weighted": True, "label_smoothing": 0.1},
)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_is_that_of_float64(sizes, dtype, device):
    for form in FORMS:
        found = Loss(sizes, device, dtype, **form).with_slope()
        ideal = Loss(sizes, "cpu", torch.float64, rounded=dtype, **form).with_slope()
        for ours, wanted in zip(found, ideal, strict=True):
            allowed = TOLERANCE[dtype] * max(float(wanted.abs().max()), 1e-3)
            torch.testing.assert_close(ours.cpu().double(), wanted, rtol=0, atol=allowed)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_is_one_launch(dtype, device, request):
    if not on_standin(request):
        pytest.skip("the stand-in alone says what was launched, and no more")
    for sizes in SIZES[:5]:
        for form in FORMS[:3]:
            loss = Loss(sizes, device, dtype, **form)
            with profile() as found:
                loss()
            widens = dtype.itemsize == 2 and form.get("weighted", False)  # the weights, before
            launched = len([k for e in found.events() for k in e.kernels])
            assert launched == 1 + widens, (sizes, form)


def test_no_rows(device):
    x, target = torch.empty(0, 4, device=device), torch.empty(0, dtype=torch.int64, device=device)
    assert F.cross_entropy(x, target).isnan()
    assert float(F.cross_entropy(x, target, reduction="sum")) == 0


def test_nothing_counts(device):
    x, target = torch.ones(3, 4, device=device), torch.full((3,), -100, device=device)
    assert F.cross_entropy(x, target).isnan()
    assert float(F.cross_entropy(x, target, reduction="sum")) == 0


def test_streams_and_graphs_have_the_same_bits(device, request):
    if request.config.getoption("--device") not in ("cuda", "standin"):
        pytest.skip("only GPUs have such streams and graphs")
    loss = Loss((600, 30), device, torch.float32, weighted=True)
    wanted, found = loss(), []
    streams = [torch.cuda.Stream() for _ in range(3)]
    torch.cuda.synchronize()
    for stream in streams:
        with torch.cuda.stream(stream):
            found.append(loss())
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        replayed = loss()
    graph.replay()
    torch.cuda.synchronize()
    assert all(float(y) == float(wanted) for y in [*found, replayed])


def backward_launches(loss, **options):
    with profile() as found:
        loss.backward(**options)
    return [k.name for e in found.events() for k in e.kernels]


def begun(device, dtype=torch.float32):
    loss = Loss((9, 300), device, dtype, weighted=True)
    return loss, loss()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_pass_that_begins_at_one_makes_none(dtype, device, request):
    for sizes in ((9, 300), (40, 7), (2, 6, 5, 3)):
        for form in FORMS:
            with_one, without = (Loss(sizes, device, dtype, **form) for _ in range(2))
            with_one().backward(torch.ones((), device=device, dtype=dtype))
            names = backward_launches(without())
            assert bool((without.x.grad == with_one.x.grad).all())
            if on_standin(request) and len(sizes) == 2:
                assert len(names) == 1


def test_who_looks_at_the_first_gradient_sees_one(device):
    wanted, y = begun(device)
    y.backward(torch.ones((), device=device))
    looks = {
        "hook": lambda y, seen: y.register_hook(seen.append),
        "before the node": lambda y, seen: y.grad_fn.register_prehook(lambda g: seen.extend(g)),
        "after the node": lambda y, seen: y.grad_fn.register_hook(lambda dx, g: seen.extend(g)),
    }
    for name, look in looks.items():
        loss, y = begun(device)
        seen = []
        look(y, seen)
        y.backward()
        assert [float(g) for g in seen] == [1], name
        assert bool((loss.x.grad == wanted.x.grad).all()), name
    loss, y = begun(device)
    y.retain_grad()
    y.backward()
    assert float(y.grad) == 1
    loss, y = begun(device)
    assert float(torch.autograd.grad(y, [y, loss.x])[0]) == 1


def test_passes_that_begin_at_several_places(device):
    wanted, y = begun(device)
    y.backward(torch.full((), 4.0, device=device))
    loss, y = begun(device)
    torch.autograd.backward([y, y, (y * 2)])
    torch.testing.assert_close(loss.x.grad, wanted.x.grad)
    loss, y = begun(device)
    for _ in range(4):
        y.backward(retain_graph=True)
    torch.testing.assert_close(loss.x.grad, wanted.x.grad)
    with torch.autograd.detect_anomaly():
        loss, y = begun(device)
        (y * 4).backward()
        torch.testing.assert_close(loss.x.grad, wanted.x.grad)
        y = loss()
        loss.x.grad = None
        y.backward()
        torch.testing.assert_close(loss.x.grad * 4, wanted.x.grad)


def test_gradients_of_gradients_from_one(device):
    slopes = []
    for to, dtype in ((device, torch.float32), ("cpu", torch.float64)):
        loss, y = begun(to, dtype)
        (first,) = torch.autograd.grad(y, loss.x, create_graph=True)
        slopes.append(torch.autograd.grad((first * first).sum(), loss.x)[0].cpu().double())
    torch.testing.assert_close(slopes[0], slopes[1], rtol=1e-3, atol=1e-7)


def test_a_pass_on_another_stream(device, request):
    if request.config.getoption("--device") == "cpu":
        pytest.skip("only devices have streams")
    wanted, y = begun(device)
    y.backward()
    loss, y = begun(device)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        y.backward()
    torch.cuda.synchronize()
    assert bool((loss.x.grad == wanted.x.grad).all())
