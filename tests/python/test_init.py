"""Initialisers: what they promise of every tensor, their errors and older names."""

import math

import numpy as np
import pytest
from scipy import stats


@pytest.fixture
def init(torch):
    torch.manual_seed(0)
    return torch.nn.init


def test_plain_fills(torch, init):
    w = torch.empty(3, 4)
    assert init.ones_(w).eq(1).all() and init.zeros_(w).eq(0).all()
    assert init.constant_(w, 0.5).eq(0.5).all()
    assert torch.equal(init.eye_(w), torch.eye(3, 4))
    p = torch.nn.Parameter(w)
    assert init.normal_(p) is p and p.is_leaf and p.grad_fn is None


def test_truncated_normal(torch, init):
    w = init.trunc_normal_(torch.empty(20000), std=2.0, a=-1.0, b=3.0)
    assert w.min() >= -1 and w.max() <= 3
    # mean and deviation of that distribution
    assert w.mean().item() == pytest.approx(0.713, abs=0.04)
    assert w.std().item() == pytest.approx(1.059, abs=0.04)
    with pytest.warns(UserWarning, match="more than 2 std"):
        far = init.trunc_normal_(w, mean=4.0, a=-1.0, b=1.0)
    assert far.min() >= -1 and far.max() <= 1
    assert far.mean().item() == pytest.approx(0.717, abs=0.03)  # of the tail


INF = math.inf
# mean, std, a, b: usual cuts, one side, far out on both sides, narrow, and far beyond float64's
# tail.
CUTS = [
    (0, 1, -2, 2),
    (0, 0.02, -2, 2),
    (3, 2, -1, INF),
    (0, 1, -INF, INF),
    (0, 1, 1, 1e5),
    (0, 1, 2.5, 3),
    (0, 1, -3, -2.5),
    (0, 1, 5, INF),
    (1, 0.5, -INF, -9),
    (0, 1, 38, INF),
    (0, 1, -1000, -50),
    (0, 1, 1e5, 1e6),
    (0, 1, 7, 7.001),
    (0, 1, -1e-3, 1e-3),
]


@pytest.mark.filterwarnings("ignore:mean is more than 2 std")  # as torch warns
@pytest.mark.parametrize(("mean", "std", "a", "b"), CUTS)
def test_truncated_normal_is_distributed_so(torch, init, device, mean, std, a, b):
    n = 20_000
    w = torch.empty(n, dtype=torch.float64, device=device)
    found = np.sort(init.trunc_normal_(w, mean, std, a, b).cpu().numpy())
    assert a <= found[0] and found[-1] <= b and np.isfinite(found).all()
    low, high = (a - mean) / std, (b - mean) / std
    part = stats.truncnorm(low, high).cdf((found - mean) / std)
    if max(low, -high) > 36:  # where scipy's tail ends it is exponential, to 1 in its square
        rate = max(low, -high)
        depth = (found - mean) / std - low if low > 0 else high - (found - mean) / std
        part = np.sort(-np.expm1(-rate * depth - depth**2 / 2))
    # Kolmogorov and Smirnov: one of 10^6 samples of the distribution lies further away.
    assert stats.kstest(part, "uniform").statistic < 2.7 / math.sqrt(n)


@pytest.mark.filterwarnings("ignore:mean is more than 2 std")
def test_truncated_normal_of_every_kind(torch, init):
    strided = torch.zeros(6, 5).t()
    assert init.trunc_normal_(strided) is strided and strided.abs().max() <= 2
    assert strided.unique().numel() == 30
    many = init.trunc_normal_(torch.empty(3, 700_001))  # more than is drawn at once
    assert many.unique().numel() > 1_500_000 and abs(many.mean().item()) < 0.01
    half = init.trunc_normal_(torch.empty(5000, dtype=torch.float16), a=-0.3, b=0.3)
    assert half.abs().max() <= torch.tensor(0.3, dtype=torch.float16)
    g = torch.Generator().manual_seed(3)
    first = init.trunc_normal_(torch.empty(9), generator=g)
    again = init.trunc_normal_(torch.empty(9), generator=g.manual_seed(3))
    assert torch.equal(first, again)
    for wrong in [dict(std=0.0), dict(a=1.0, b=1.0), dict(mean=math.nan), dict(std=INF)]:
        with pytest.raises(RuntimeError, match="trunc_normal"):
            init.trunc_normal_(torch.empty(3), **wrong)
    with pytest.raises(RuntimeError, match="too many std"):
        init.trunc_normal_(torch.empty(3), std=1e-300, a=1e10, b=2e10)
    with pytest.raises(NotImplementedError, match="floating point"):
        init.trunc_normal_(torch.empty(3, dtype=torch.int64))


@pytest.mark.parametrize("shape", [(4, 4), (3, 7), (7, 3), (4, 2, 3), (2, 3, 2, 2)])
def test_orthogonal(torch, init, shape):
    w = init.orthogonal_(torch.empty(shape, dtype=torch.float64), gain=2.0)
    flat = w.reshape(shape[0], -1)
    gram = flat @ flat.t() if flat.size(0) <= flat.size(1) else flat.t() @ flat
    assert torch.allclose(gram, 4 * torch.eye(gram.size(0), dtype=torch.float64))
    with pytest.raises(ValueError, match="2 or more dimensions"):
        init.orthogonal_(torch.empty(3))


def test_sparse(torch, init):
    w = init.sparse_(torch.empty(10, 5), sparsity=0.25)
    assert (w == 0).sum(0).tolist() == [3] * 5
    with pytest.raises(ValueError, match="Only tensors with 2 dimensions"):
        init.sparse_(torch.empty(3), 0.1)
    # As torch takes a slice of so many rows.
    for sparsity, zeros in [(1.5, 10), (1.0, 10), (0.0, 0), (-0.25, 8), (-1.5, 0)]:
        assert (init.sparse_(w, sparsity) == 0).sum(0).tolist() == [zeros] * 5
    with pytest.raises(RuntimeError, match="must be finite"):
        init.sparse_(w, math.nan)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_dirac_keeps_channels(torch, init, groups, dims):
    w = init.dirac_(torch.empty(4, 4 // groups, *[3] * dims), groups)
    assert w.sum() == 4 and w.max() == 1
    if dims == 2:
        x = torch.randn(1, 4, 5, 5)
        assert torch.equal(torch.nn.functional.conv2d(x, w, padding=1, groups=groups), x)
    with pytest.raises(ValueError, match="dim 0 must be divisible by groups"):
        init.dirac_(torch.empty(4, 2, 3), 3)


@pytest.mark.parametrize("name", ["xavier_uniform_", "xavier_normal_"])
def test_xavier(torch, init, name):
    w = getattr(init, name)(torch.empty(200, 300), gain=2.0)
    assert w.std().item() == pytest.approx(2 * math.sqrt(2 / 500), rel=0.03)


@pytest.mark.parametrize("name", ["kaiming_uniform_", "kaiming_normal_"])
@pytest.mark.parametrize("mode, fan", [("fan_in", 300), ("fan_out", 200)])
def test_kaiming(torch, init, name, mode, fan):
    w = getattr(init, name)(torch.empty(200, 300), mode=mode, nonlinearity="relu")
    assert w.std().item() == pytest.approx(math.sqrt(2 / fan), rel=0.03)
    with pytest.warns(UserWarning, match="zero-element tensors is a no-op"):
        getattr(init, name)(torch.empty(0, 3))
    with pytest.raises(ValueError, match="Mode fan not supported"):
        getattr(init, name)(w, mode="fan")


def test_gains(init):
    assert init.calculate_gain("tanh") == 5 / 3
    assert init.calculate_gain("leaky_relu", 0.2) == math.sqrt(2 / 1.04)
    with pytest.raises(ValueError, match="Unsupported nonlinearity swish"):
        init.calculate_gain("swish")


@pytest.mark.parametrize("name", "uniform normal xavier_normal kaiming_normal orthogonal".split())
def test_older_names_warn(torch, init, name):
    text = f"`nn.init.{name}` is now deprecated in favor of `nn.init.{name}_`"
    with pytest.warns(FutureWarning, match=text):
        getattr(init, name)(torch.empty(2, 2))


def test_a_module_is_made_without_being_initialised(torch):
    skip_init = torch.nn.utils.skip_init
    before = torch.get_rng_state()
    made = skip_init(torch.nn.Linear, 3, 2, dtype=torch.float64)
    assert made.weight.shape == (2, 3) and made.weight.dtype is torch.float64
    assert torch.get_rng_state().equal(before)
    torch.nn.Linear(3, 2)
    assert not torch.get_rng_state().equal(before)
    with pytest.raises(RuntimeError, match="must support a 'device' arg"):
        skip_init(torch.nn.ReLU)
    with pytest.raises(RuntimeError, match="Expected a Module"):
        skip_init(int)


def test_weights_of_convolutions_in_another_order(torch):
    nn = torch.nn
    model = nn.Sequential(nn.Conv2d(8, 4, 3), nn.Sequential(nn.ConvTranspose2d(8, 4, 3)))
    values = model[0].weight.clone()
    convert = nn.utils.convert_conv2d_weight_memory_format
    assert convert(model, torch.channels_last) is model
    assert model[0].weight.stride() == (72, 1, 24, 8) and model[0].weight.equal(values)
    assert model[1][0].weight.is_contiguous(memory_format=torch.channels_last)
    deep = nn.utils.convert_conv3d_weight_memory_format(nn.Conv3d(8, 4, 3), torch.channels_last_3d)
    assert deep.weight.stride() == (216, 1, 72, 24, 8)
