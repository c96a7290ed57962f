"""Numbers far from those that samples are drawn from: remainders of any quotient are exact, slopes
at NaN, infinities and ties are PyTorch's.
"""

import itertools

import flambeau
import numpy as np
import pytest

F = flambeau.nn.functional
NAN, INF = np.nan, np.inf


def operands(dtype):
    """Quotients from next to nothing to the largest, whole ones and their neighbours, specials."""
    random = np.random.default_rng(0)
    n, digits = 40_000, 24 if dtype == "float32" else 53
    b = np.ldexp(random.uniform(-2, 2, n), random.integers(-40, 40, n)).astype(dtype)
    size = np.ldexp(random.uniform(-1, 1, n), random.integers(-5, 70, n))
    a = (b * size).astype(dtype)
    a[::3] = (b * np.rint(size))[::3]
    a[1::6] = np.nextafter(a[1::6], INF if n % 2 else -INF)
    ends = [0.0, -0.0, 1.0, -0.7, NAN, INF, -INF, 5e-324, 1e-40, 3e38, -(2.0**digits)]
    x, y = np.array(list(itertools.product(ends, ends))).astype(dtype).T
    return np.concatenate([a, x]), np.concatenate([b, y])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["fmod", "remainder", "floor_divide"])
def test_remainders_of_any_quotient_are_exact(name, dtype, device):
    with np.errstate(all="ignore"):
        a, b = operands(dtype)
        want = getattr(np, name)(a, b)
    operation = getattr(flambeau, name)
    x, y = (flambeau.tensor(v).to(device) for v in (a, b))
    got = operation(x, y).cpu().numpy()
    # Where nothing remains PyTorch keeps the sign of `a`, Python that of `b`.
    signs = np.signbit(got) == np.signbit(a if name == "remainder" else want)
    same = (got == want) & (signs | (want != 0)) | np.isnan(got) & np.isnan(want)
    wrong = np.flatnonzero(~same)
    assert not wrong.size, [(a[i], b[i], got[i], want[i]) for i in wrong[:3]]
    few = operation(x[:100], y[:100]).cpu().numpy()  # without large quotients beside them
    assert np.array_equal(few, got[:100], equal_nan=True)


def slopes(device, call, *numbers):
    x = [flambeau.tensor(v, device=device, requires_grad=True) for v in numbers]
    return [float(g) for g in flambeau.autograd.grad(call(*x), x)]


AT_NAN = dict(hardtanh=1, relu6=1, elu=1, celu=1, hardswish=1, hardsigmoid=0, relu=1)
AT_NAN |= dict(selu=1.0507010221481323, leaky_relu=0.01, hardshrink=1, softshrink=1, silu=NAN)


@pytest.mark.parametrize("name", AT_NAN)
def test_slopes_at_nan(name, device):
    assert slopes(device, getattr(F, name), NAN) == pytest.approx([AT_NAN[name]], nan_ok=True)


@pytest.mark.parametrize("name", ["fmax", "fmin"])
def test_slopes_of_ties_and_nans(name, device):
    call = getattr(flambeau, name)
    assert slopes(device, call, 1.0, 1.0) == [0.5, 0.5]
    assert slopes(device, call, NAN, 1.0) == [0, 1] and slopes(device, call, 1.0, NAN) == [1, 0]
    assert slopes(device, call, NAN, NAN) == [1, 0]


@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
def test_slopes_of_infinite_sums(name, device):
    call = getattr(flambeau, name)
    for numbers, want in {
        (INF, 1.0): [1, 0],
        (0.0, INF): [0, 1],
        (-INF, 1.0): [0, 1],
        (INF, INF): [NAN, NAN],
        (0.0, 0.0): [0.5, 0.5],
    }.items():
        assert slopes(device, call, *numbers) == pytest.approx(want, nan_ok=True), numbers


def test_step_of_nan(device):
    x, values = (flambeau.tensor(v).to(device) for v in ([NAN, 0.0, -1.0, 2.0], 0.5))
    assert flambeau.heaviside(x, values).tolist() == [0, 0.5, 0, 1]


def test_gradient_of_a_small_norm_in_halves(device):
    x = flambeau.full((4,), 0.001, dtype=flambeau.half, device=device, requires_grad=True)
    x.norm().backward(flambeau.tensor(200.0, dtype=flambeau.half, device=device))
    assert x.grad.tolist() == [100.0] * 4
    zeros = flambeau.zeros(3, device=device, requires_grad=True)
    zeros.norm().backward()
    assert zeros.grad.tolist() == [0.0] * 3
