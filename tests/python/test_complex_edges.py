"""Complex numbers where the plain formula would be wrong: infinite parts, factors that are no whole
numbers, values that do not fit, powers in place, views of sizes of 1."""

import cmath
import math

import flambeau as torch
import pytest


@pytest.mark.parametrize(
    "z",
    [complex(100, 0), complex(math.inf, 0), complex(-math.inf, 1), complex(-math.inf, math.inf)],
)
def test_exp_of_large_numbers_is_no_nan(device, z):
    got = torch.tensor([z], dtype=torch.complex64, device=device).exp().item()
    if z.real > 0:
        assert got.real == math.inf and got.imag == 0
    else:
        assert got == 0


def test_infinite_lengths_stay_in_a_direction_that_is_none(device):
    z = torch.tensor(
        [complex(math.inf, math.inf), complex(math.inf, math.nan)], dtype=torch.complex64
    ).to(device)
    for got in z.exp().tolist() + z[1:].sqrt().tolist():
        assert got.real == math.inf and math.isnan(got.imag)
    assert math.isnan(torch.tensor(complex(-200, math.inf), device=device).exp().item().real)


def test_roots_of_minus_infinity_have_the_sign_of_the_imaginary_part(device):
    z = [complex(-math.inf, b) for b in (0.0, -0.0, 3.0, -3.0)]
    got = torch.tensor(z, dtype=torch.complex128, device=device).sqrt().tolist()
    assert [(g.real, g.imag) for g in got] == [(0, math.inf), (0, -math.inf)] * 2


@pytest.mark.parametrize("zero", [complex(0, 0), complex(-0.0, 0), complex(0, -0.0)])
def test_a_divisor_of_0_has_no_sign(device, zero):
    z = torch.tensor([3 - 4j], dtype=torch.complex128, device=device)
    got = (z / torch.tensor([zero], dtype=torch.complex128, device=device)).item()
    assert got == complex(math.inf, -math.inf)


def test_a_complex_number_does_not_fit_into_places_of_reals(device):
    for index in (0, slice(0, 2), ..., torch.tensor([0], device=device)):
        x = torch.ones(3, device=device)
        with pytest.raises(RuntimeError, match="without overflow"):
            x[index] = 1j
        x[index] = 2 + 0j
        assert x.max().item() == 2 and not torch.isnan(x).any()
    truth = torch.zeros(2, dtype=torch.bool, device=device)
    truth[:1] = 1j
    assert truth.tolist() == [True, False]


def test_exp_is_cmaths(device):
    z = [complex(a, b) for a in (-3.0, 0.0, 2.5) for b in (-4.0, 0.0, 1.0)]
    got = torch.tensor(z, dtype=torch.complex128, device=device).exp().tolist()
    assert all(cmath.isclose(g, cmath.exp(w), rel_tol=1e-12) for g, w in zip(got, z))


def test_index_add_takes_a_fraction(device):
    z = torch.tensor([1 + 2j, 3j], dtype=torch.complex64, device=device)
    at = torch.tensor([0, 1], device=device)
    assert torch.zeros(2, dtype=torch.complex64, device=device).index_add(
        0, at, z, alpha=0.5
    ).tolist() == [0.5 + 1j, 1.5j]


def test_reals_refuse_a_complex_number_that_is_a_tensor(device):
    x, number = torch.zeros(3, device=device), torch.tensor(1j, device=device)
    mask = torch.tensor([True, False, True], device=device)
    at = torch.tensor([0], device=device)
    for write in (
        lambda: x.masked_fill(mask, number),
        lambda: x.index_fill(0, at, number),
        lambda: x.scatter(0, at, number),
        lambda: x.__setitem__(mask, number),
    ):
        with pytest.raises(RuntimeError):
            write()
    assert x.tolist() == [0, 0, 0]


def test_powers_in_place_keep_what_gradients_read(device):
    leaf = torch.tensor([1 + 2j], dtype=torch.complex128, device=device, requires_grad=True)
    a = leaf * 1j
    a.pow_(2)
    a.real.sum().backward()
    want = torch.tensor([1 + 2j], dtype=torch.complex128, device=device, requires_grad=True)
    ((want * 1j) ** 2).real.sum().backward()
    assert leaf.grad.tolist() == want.grad.tolist() != [0]


def test_the_power_0_has_no_slope(device):
    z = torch.tensor([1 + 2j], dtype=torch.complex64, device=device, requires_grad=True)
    (z**0).abs().sum().backward()
    assert z.grad.tolist() == [0]


def test_strides_of_sizes_of_1_may_be_odd(device):
    assert torch.view_as_complex(torch.zeros(1, 3, device=device)[:, :2]).tolist() == [0]


@pytest.mark.parametrize(
    "call",
    [
        torch.var,
        torch.std,
        torch.linalg.vector_norm,
        torch.linalg.matrix_exp,
        torch.linalg.inv,
        torch.linalg.eigh,
        lambda x: torch.linalg.matrix_norm(x, "nuc"),
    ],
)
def test_what_is_of_reals_only_asks_for_no_complex_tensor(device, call):
    z = torch.ones(2, 2, dtype=torch.complex64, device=device)
    with pytest.raises(NotImplementedError, match="is unsupported for complex64") as problem:
        call(z)
    assert "complex tensor" not in str(problem.value) and "view_as_real" in str(problem.value)


def test_gradients_of_results_are_of_their_kind(device):
    """PyTorch refuses a gradient that is complex where its result is real, and the other way."""
    x = torch.ones(2, device=device, requires_grad=True)
    z = torch.ones(2, dtype=torch.complex64, device=device, requires_grad=True)
    for leaf, other, kinds in (x, z, "complex64 .* float32"), (z, x, "float32 .* complex64"):
        text = "both grad_output and output are required.*grad_output.0. has a dtype of torch."
        for call in (
            lambda y, leaf=leaf, other=other: torch.autograd.grad(y, leaf, other.detach()),
            lambda y, other=other: y.backward(other.detach()),
        ):
            with pytest.raises(RuntimeError, match=text + kinds.replace(" .* ", ".*torch.")):
                call(leaf * 2)
    assert torch.autograd.grad(x * 2, x, torch.ones(2, dtype=torch.int64, device=device))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.complex64])
@pytest.mark.parametrize("number", [1, 2.5, 1.0, True])
def test_a_number_by_a_tensor_does_not_keep_the_tensor(device, dtype, number):
    leaf = torch.tensor([0.5, -4], device=device).to(dtype).requires_grad_()
    x = leaf * 1
    y = number / x
    x.mul_(3)
    y.backward(torch.ones_like(y))
    assert leaf.grad.tolist() == (-number / leaf.detach() ** 2).tolist()


@pytest.mark.parametrize("number", [1, -0.3, 0, 2j, math.inf])
def test_slopes_of_a_number_by_a_tensor(number):
    z = torch.tensor([0.5 + 1j, -3 + 0.25j], dtype=torch.complex128, requires_grad=True)
    (got,) = torch.autograd.grad(number / z, z, torch.ones_like(z))
    want = [(-number / w**2).conjugate() for w in z.tolist()]
    if math.isfinite(abs(number)):
        assert all(cmath.isclose(g, w, rel_tol=1e-12) for g, w in zip(got.tolist(), want))
        assert torch.autograd.gradgradcheck(lambda z: number / z, (z,))
        x = z.detach().real.clone().requires_grad_()
        assert torch.autograd.gradcheck(lambda x: number / x, (x,))
        assert torch.autograd.gradgradcheck(lambda x: number / x, (x,))


def test_empty_complex_tensors_say_their_dtype():
    """Nothing else in their text does."""
    assert repr(torch.empty(0, dtype=torch.complex64)) == "tensor([], dtype=torch.complex64)"
    empty = torch.empty(0, 2, dtype=torch.complex128)
    assert repr(empty) == "tensor([], size=(0, 2), dtype=torch.complex128)"
    unseen = torch.empty(2, dtype=torch.complex64, device="meta")
    assert repr(unseen) == "tensor(..., device='meta', size=(2,), dtype=torch.complex64)"
    assert repr(torch.ones(1, dtype=torch.complex64)) == "tensor([1.+0.j])"
