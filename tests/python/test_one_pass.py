"""A Sequential makes a convolution with the batch norm and ReLU behind it in one pass where no
gradient is recorded: the same results, and nothing of it where somebody looks in between."""

from types import SimpleNamespace

import flambeau as torch
import pytest
from flambeau import nn
from flambeau.nn import functional as F
from flambeau.nn.modules import _one_pass

from tests.harness.gen import api

CASES = {
    "winograd": (lambda: nn.Conv2d(32, 32, 3, padding=1), (2, 32, 14, 14)),
    "1x1": (lambda: nn.Conv2d(16, 24, 1, bias=False), (2, 16, 9, 9)),
    "strided": (lambda: nn.Conv2d(3, 20, 7, stride=2, padding=3), (1, 3, 24, 24)),
    "depthwise": (lambda: nn.Conv2d(24, 24, 3, padding=1, groups=24), (2, 24, 12, 12)),
    "grouped": (lambda: nn.Conv2d(16, 32, 3, groups=4), (2, 16, 10, 10)),
    "dilated": (lambda: nn.Conv2d(8, 8, 3, dilation=2), (2, 8, 12, 12)),
    "far": (lambda: nn.Conv2d(2, 3, 2, dilation=200, padding=200), (1, 2, 4, 4)),
    "line": (lambda: nn.Conv1d(8, 12, 5), (3, 8, 40)),
    "volume": (lambda: nn.Conv3d(4, 6, 2), (2, 4, 5, 6, 7)),
}
NORMS = {3: nn.BatchNorm1d, 4: nn.BatchNorm2d, 5: nn.BatchNorm3d}


def lively(norm):
    """With statistics and weights as training leaves them."""
    for t, low, high in (
        (norm.running_mean, -0.5, 0.5),
        (norm.running_var, 0.3, 2),
        (norm.weight, -1.5, 1.5),
        (norm.bias, -1, 1),
    ):
        if t is not None:
            t.data.uniform_(low, high)
    return norm


@pytest.fixture
def passes(monkeypatch):
    """How often a convolution took its neighbours along."""
    seen, plain = [], _one_pass.api.conv_norm

    def counted(*args):
        seen.append(args)
        return plain(*args)

    monkeypatch.setattr(_one_pass.api, "conv_norm", counted)
    return seen


def one_by_one(net, x):
    for layer in net:
        x = layer(x)
    return x


def agree(net, x, tolerance=1e-6):
    with torch.no_grad():
        found, wanted = net(x), one_by_one(net, x)
    assert (found.dtype, found.shape, found.stride()) == (
        wanted.dtype,
        wanted.shape,
        wanted.stride(),
    )
    scale = wanted.double().abs().max().item()
    assert (found.double() - wanted.double()).abs().max().item() <= tolerance * scale


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_the_layers(name, dtype, passes):
    torch.manual_seed(1)
    make, size = CASES[name]
    conv = make()
    kind = getattr(torch, dtype)
    net = nn.Sequential(conv, lively(NORMS[len(size)](conv.out_channels)), nn.ReLU())
    net = net.eval().to(kind)
    # Halves join the ReLU alone; Winograd's transforms round scaled weights otherwise.
    tolerance = 0 if kind.itemsize == 2 else 2e-6 if name == "winograd" else 1e-6
    agree(net, torch.randn(*size).to(kind), tolerance)
    assert len(passes) == 1


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("parts", ["norm", "relu", "norm relu"])
def test_parts(parts, affine, passes):
    torch.manual_seed(2)
    behind = {"norm": lively(nn.BatchNorm2d(8, affine=affine)), "relu": nn.ReLU(inplace=True)}
    layers = [behind[p] for p in parts.split()]
    net = nn.Sequential(nn.Conv2d(4, 8, 3), *layers, nn.MaxPool2d(2), nn.Conv2d(8, 2, 1)).eval()
    agree(net, torch.randn(2, 4, 9, 9))
    assert len(passes) == 1


def test_channels_last(passes):
    net = nn.Sequential(nn.Conv2d(16, 16, 3), lively(nn.BatchNorm2d(16)), nn.ReLU()).eval()
    x = torch.randn(2, 16, 9, 9)
    for w_last, x_last in (True, True), (True, False), (False, True):
        forms = {True: torch.channels_last, False: torch.contiguous_format}
        net.to(memory_format=forms[w_last])
        agree(net, x.to(memory_format=forms[x_last]))
    assert len(passes) == 3


def test_autocast(passes):
    net = nn.Sequential(nn.Conv2d(8, 8, 3), lively(nn.BatchNorm2d(8)), nn.ReLU()).eval()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        agree(net, torch.randn(2, 8, 9, 9), 0)
    assert len(passes) == 1


def test_not_a_number_stays(passes):
    net = nn.Sequential(nn.Conv2d(1, 2, 1), lively(nn.BatchNorm2d(2)), nn.ReLU()).eval()
    x = torch.ones(1, 1, 2, 2)
    x[0, 0, 0, 0] = float("nan")
    with torch.no_grad():
        y = net(x)
    assert y[:, :, 0, 0].isnan().all() and not y[:, :, 1, 1].isnan().any() and passes


class Louder(nn.ReLU):
    def forward(self, x):
        return super().forward(x) * 2


BATCH = dict(track_running_stats=False)
# What keeps the layers apart, as changes of [conv, norm, relu].
APART = {
    "training": lambda net: net.train(),
    "training of the norm": lambda net: net[1].train(),
    "hook of the convolution": lambda net: net[0].register_forward_hook(lambda *a: None),
    "hook of the norm": lambda net: net[1].register_forward_pre_hook(lambda *a: None),
    "statistics of the batch": lambda net: setattr(net, "1", nn.BatchNorm2d(4, **BATCH)),
    "a norm of another size": lambda net: setattr(net, "1", nn.BatchNorm1d(4)),
    "a forward of its own": lambda net: setattr(net[0], "forward", lambda x: x),
    "a padding mode": lambda net: setattr(net, "0", nn.Conv2d(4, 4, 3, padding_mode="reflect")),
}


@pytest.mark.parametrize("name", APART)
def test_apart(name, passes):
    net = nn.Sequential(nn.Conv2d(4, 4, 3), nn.BatchNorm2d(4), nn.ReLU()).eval()
    APART[name](net)
    with torch.no_grad():
        try:
            net(torch.randn(2, 4, 6, 6))
        except ValueError as problem:
            assert "expected 2D or 3D input" in str(problem)
    assert not passes


def test_a_norm_s_weight_needs_its_statistics():
    x, weight = torch.ones(1, 2, 5, 5), torch.ones(4, 2, 3, 3)
    with pytest.raises((ValueError, RuntimeError), match="needs running_mean and running_var"):
        api.conv_norm(x, weight, norm_weight=torch.ones(4))


REPLACED = {
    "forward of the convolution": (nn.Conv2d, "forward", lambda self, x: x[..., 1:, 1:] * 0 + 7),
    "forward of the norm": (nn.BatchNorm2d, "forward", lambda self, x: x * 0 + 7),
    "forward of the relu": (nn.ReLU, "forward", lambda self, x: x * 0 + 7),
    "call of modules": (nn.Module, "__call__", lambda self, x: x * 0 + 7),
    "function": (F, "conv2d", lambda x, *rest: x * 0 + 7),
}


@pytest.mark.parametrize("name", REPLACED)
def test_what_a_program_put_in_their_place_is_called(name, monkeypatch):
    net = nn.Sequential(nn.Conv2d(4, 4, 2), nn.BatchNorm2d(4), nn.ReLU()).eval()
    monkeypatch.setattr(*REPLACED[name])
    with torch.no_grad():
        found = net(torch.randn(2, 4, 6, 6))
    assert (found - 7).abs().max() < 1e-3


def test_hooks_see_their_tensors(passes):
    net = nn.Sequential(nn.Conv2d(4, 4, 3), nn.BatchNorm2d(4), nn.ReLU()).eval()
    x, seen = torch.randn(2, 4, 9, 9), []
    hook = net[2].register_forward_hook(lambda m, args, y: seen.append((args[0], y)))
    with torch.no_grad():
        net(x)
        (before, after), normed = seen[0], one_by_one(net[:2], x)
    assert (before - normed).abs().max().item() < 1e-6 and (after >= 0).all()
    assert len(passes) == 1  # the norm alone
    hook.remove()
    everywhere = nn.modules.module.register_module_forward_hook(lambda *a: seen.append(a))
    with torch.no_grad():
        net(x)
    everywhere.remove()
    assert len(passes) == 1 and len(seen) == 1 + 4


def test_subclasses_and_gradients(passes):
    net = nn.Sequential(nn.Conv2d(4, 4, 3), nn.BatchNorm2d(4), Louder()).eval()
    x = torch.randn(2, 4, 6, 6)
    agree(net, x)
    assert len(passes) == 1 and passes[0][-1] is False
    y = net(x)
    assert len(passes) == 1 and y.requires_grad


def test_an_error_names_the_module():
    net = nn.Sequential(nn.Conv2d(4, 4, 3), nn.BatchNorm2d(4), nn.ReLU()).eval()
    with torch.no_grad(), pytest.raises(RuntimeError, match='"0.*Conv2d'):
        net(torch.randn(2, 3, 6, 6))


def library_s(*layers):
    net = api.nn_sequential()
    for layer in layers:
        api.module_append(net, layer)
    api.module_train(net, False)
    return net


@pytest.mark.parametrize("relu", [True, False])
def test_the_library_s_sequential(relu):
    torch.manual_seed(3)
    conv, norm = api.nn_convolution(4, 6, [3, 3]), api.nn_batch_norm(6, 2)
    statistics = {n: api.module_buffer(norm, n) for n in ("running_mean", "running_var")}
    affine = {n: api.module_parameter(norm, n) for n in ("weight", "bias")}
    lively(SimpleNamespace(**statistics, **affine))
    net = library_s(conv, norm, *([api.nn_relu()] if relu else []))
    x = torch.randn(2, 4, 7, 7)
    wanted = api.module_forward(net, [x]).detach()
    with torch.no_grad():
        found = api.module_forward(net, [x])
        between = api.module_forward(norm, [api.module_forward(conv, [x])])
    assert (found - wanted).abs().max().item() <= 1e-6 * wanted.abs().max().item()
    assert not found.equal(between.relu() if relu else between)  # other roundings: it was one pass
    before = statistics["running_mean"].clone()
    api.module_train(norm, True)
    with torch.no_grad():
        api.module_forward(net, [x])
    assert not before.equal(statistics["running_mean"])
