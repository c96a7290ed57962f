"""Gradients where a formula's parts have no value though the whole has one, or the other way round:
NaN, infinities, and powers that overflow beside the branch that is taken. And numbers of a program
in gradients of doubles, which keep all of their digits."""

import math

import pytest

INF, NAN = math.inf, math.nan


def slope(torch, f, values, device, dtype=None):
    x = torch.tensor(values, dtype=dtype or torch.float32, device=device, requires_grad=True)
    y = f(x)
    (dx,) = torch.autograd.grad(y, x, torch.ones_like(y))
    return dx.tolist()


def curvature(torch, f, values, device, weight):
    x = torch.tensor(values, device=device, requires_grad=True)
    y = f(x)
    (dx,) = torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)
    (ddx,) = torch.autograd.grad(dx, x, torch.full_like(dx, weight))
    return ddx.tolist()


def test_a_sign_is_0_of_nan_and_so_is_what_it_is_the_slope_of(torch, device):
    x = torch.tensor([NAN, -2.0, 0.0, INF], device=device)
    assert x.sign().tolist() == [0.0, -1.0, 0.0, 1.0]
    assert x.half().sgn().tolist() == [0.0, -1.0, 0.0, 1.0]
    for f in (torch.abs, lambda x: torch.linalg.vector_norm(x, 1)):
        assert slope(torch, f, [NAN, -2.0, 3.0], device) == [0.0, -1.0, 1.0]


def test_losses_that_a_mask_hides_have_no_slope(torch, device):
    x = torch.tensor([1.0, 2.0], device=device, requires_grad=True)
    target = torch.tensor([NAN, 0.0], device=device)
    for again in (False, True):
        loss = (
            (x - target).abs()
            if again
            else torch.nn.functional.l1_loss(x, target, reduction="none")
        )
        (dx,) = torch.autograd.grad(loss[1:].sum(), x, create_graph=again)
        assert dx.tolist() == [0.0, 1.0]


def test_relu_of_nan_hands_its_gradient_on(torch, device):
    for create_graph in (False, True):
        x = torch.tensor([NAN, -1.0, 0.0, 2.0], device=device, requires_grad=True)
        (dx,) = torch.autograd.grad(x.relu().sum(), x, create_graph=create_graph)
        assert dx.tolist() == [1.0, 0.0, 0.0, 1.0]


@pytest.mark.parametrize("name", ["smooth_l1_loss", "huber_loss"])
def test_nan_stays_nan_in_a_slope_of_pieces(torch, device, name):
    f, target = getattr(torch.nn.functional, name), torch.zeros(1, device=device)
    for create_graph in (False, True):
        x = torch.tensor([NAN], device=device, requires_grad=True)
        (dx,) = torch.autograd.grad(f(x, target).sum(), x, create_graph=create_graph)
        assert math.isnan(dx.item())


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_what_one_bound_does_not_limit_passes_however_large(torch, device, dtype):
    kind = getattr(torch, dtype)
    low = slope(torch, lambda x: x.clamp_min(0.5), [INF, 1.0, 0.0, -INF], device, kind)
    high = slope(torch, lambda x: x.clamp(max=0.5), [INF, 1.0, 0.0, -INF], device, kind)
    assert low == [1.0, 1.0, 0.0, 0.0] and high == [0.0, 0.0, 1.0, 1.0]


def test_logsumexp_of_an_infinite_term_has_no_slope_in_the_others(torch, device):
    got = slope(torch, lambda x: x.logsumexp(0), [INF, 1.0], device)
    assert math.isnan(got[0]) and got[1] == 0.0
    assert slope(torch, lambda x: x.logsumexp(0), [-INF, -INF], device) == [0.0, 0.0]


@pytest.mark.parametrize("name", ["elu", "selu", "celu"])
@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_second_slopes_of_units_are_0_where_they_are_straight(torch, device, name, weight):
    f = getattr(torch.nn.functional, name)
    assert curvature(torch, f, [1.0, 100.0, 1e30, INF], device, weight) == [0.0] * 4
    (bent,) = curvature(torch, f, [-1.0], device, weight)
    assert bent == 0.0 if weight == 0 else bent > 0.3


def test_celu_of_a_negative_alpha_is_as_steep_in_a_graph(torch, device):
    x = torch.tensor([-2.0, 1.0], device=device, requires_grad=True)
    y = torch.nn.functional.celu(x, -1).sum()
    for kept in (True, False):
        (got,) = torch.autograd.grad(y, x, create_graph=kept, retain_graph=True)
        assert got.tolist() == pytest.approx([math.exp(2), 1.0], rel=1e-5)


NUMBERS = {
    "rpow": (lambda t, x: 0.3**x, lambda x: math.log(0.3) * 0.3**x),
    "rpow of a whole number": (lambda t, x: 3**x, lambda x: math.log(3) * 3**x),
    "lerp": (lambda t, x: t.lerp(x, x * 0, 0.3), lambda x: 0.7),
    "xlogy": (lambda t, x: t.xlogy(x, 0.3), lambda x: math.log(0.3)),
    "xlogy by a number": (lambda t, x: t.xlogy(0.3, x), lambda x: 0.3 / x),
    "zeta": (lambda t, x: t.special.zeta(2.3, x) / t.special.zeta(3.3, x.detach()), lambda x: -2.3),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_keeps_its_digits_beside_doubles(torch, device, name):
    f, expected = NUMBERS[name]
    values = [0.7, 1.9]
    got = slope(torch, lambda x: f(torch, x), values, device, torch.float64)
    assert got == pytest.approx([expected(x) for x in values], rel=1e-12)


def test_values_by_a_number_keep_its_digits_too(torch, device):
    x = torch.tensor([0.7, 1.9], dtype=torch.float64, device=device)
    assert torch.xlogy(x, 0.3).tolist() == pytest.approx(
        [v * math.log(0.3) for v in (0.7, 1.9)], 1e-14
    )
