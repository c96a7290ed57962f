"""Complex numbers in what Python does itself: numbers as operands and factors, comparisons, random
tensors, casts of modules, and gradients where only some of the tensors are complex."""

import importlib
import math

import pytest

from tests.harness.functions import function


def test_the_signs_of_zeros_are_each_calls_own(torch):
    for imag in (0.0, -0.0, 0.0):
        root = torch.full((1,), complex(-4, imag)).sqrt().item()
        assert root.imag == math.copysign(2, imag)
        moved = torch.zeros(1, dtype=torch.complex128).fill_(complex(-4, imag))
        assert math.copysign(1, moved.item().imag) == math.copysign(1, imag)
        product = torch.ones((), dtype=torch.float64) * complex(math.inf, imag)
        assert product.item().real == math.inf


@pytest.mark.parametrize("name", ["add", "sub", "rsub"])
def test_a_factor_of_a_complex_sum_may_be_a_fraction(torch, device, name):
    z = torch.tensor([1 + 2j, 3 - 1j], device=device)
    w = torch.tensor([2j, 1], device=device)
    whole, f = torch.tensor([1, 2], device=device), getattr(torch, name)
    want = {"add": z + w * 0.5, "sub": z - w * 0.5, "rsub": w - z * 0.5}[name]
    assert torch.equal(f(z, w, alpha=0.5), want)
    assert f(whole, 1j, alpha=0.5).dtype is torch.complex64
    with pytest.raises(RuntimeError, match="Boolean alpha only supported"):
        f(z, w, alpha=True)
    with pytest.raises(RuntimeError, match="must not be a complex number"):
        f(whole, whole, alpha=1j)
    with pytest.raises(NotImplementedError, match="a complex alpha is unsupported"):
        f(z, w, alpha=1j)
    with pytest.raises(RuntimeError, match="must not be a floating point number"):
        f(whole, whole, alpha=0.5)


def test_membership_and_casts(torch, device):
    z, x = torch.tensor([1j, 2], device=device), torch.ones(2, device=device)
    assert 1j in z and 2 in z and 1j not in x and 1 + 0j in x and 3j not in z
    for name in ("cfloat", "cdouble"):
        dtype = getattr(torch, name)
        for t in (z, x, x.long()):
            cast = getattr(t, name)()
            assert cast.dtype is dtype and torch.equal(cast, t.to(dtype))
    image = torch.ones(1, 2, 3, 4, device=device)
    assert image.cfloat(torch.channels_last).stride() == (24, 1, 8, 2)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_made_tensors(torch, device, dtype):
    dtype = getattr(torch, dtype)
    t = torch.testing.make_tensor(200, dtype=dtype, device=device)
    assert t.dtype is dtype and t.device.type == device
    for part in (t.real, t.imag):
        assert part.min() < -5 and part.max() > 5 and part.abs().max() <= 9
    t = torch.testing.make_tensor(
        4, 3, dtype=dtype, device=device, low=1, high=2, requires_grad=True, noncontiguous=True
    )
    assert t.requires_grad and not t.is_contiguous() and t.shape == (4, 3)
    assert t.real.min() >= 1 and t.imag.min() >= 1 and t.imag.max() < 2
    zeros = torch.testing.make_tensor(3, dtype=dtype, low=0, high=0, exclude_zero=True)
    assert (zeros == torch.finfo(dtype).tiny).all()
    with pytest.raises(ValueError, match="only supports"):
        torch.testing.make_tensor(3, dtype=torch.complex64, low=1e39, high=1e40)
    with pytest.raises(ValueError, match="boolean and integral"):
        torch.testing.make_tensor(3, dtype=torch.int64, requires_grad=True)


def test_closeness(torch):
    close, nan, inf = torch.testing.assert_close, math.nan, math.inf
    z = torch.tensor([1 + 2j, 3 - 1j])
    close(z, z * (1 + 1e-6))
    close(z.cdouble(), z.cdouble() * (1 + 1e-8))
    close(1 + 1j, 1 + 1.00000001j)
    close(complex(inf, 1), complex(inf, 1))
    close(complex(nan, 1), complex(1, nan), equal_nan=True)
    close(z.numpy()[0], z.numpy()[0])
    far = [
        (z.cdouble(), z.cdouble() * (1 + 1e-6)),  # the tolerance of its parts
        (z, z + 1e-3j),
        (1 + 1j, 1 + 2j),
        (complex(inf, 1), complex(inf, 2)),
        (complex(nan, 1), complex(nan, 1)),
        (complex(1.7e308, 1.7e308), 0j),  # whose absolute value is no float
        (z.numpy()[0], z.numpy()[1]),
    ]
    for actual, expected in far:
        with pytest.raises(AssertionError, match="not close"):
            close(actual, expected)
    with pytest.raises(AssertionError) as caught:
        close(1 + 1j, 1 + 2j)
    assert str(caught.value) == (
        "Scalars are not close!\n\nExpected (1+2j) but got (1+1j).\n"
        "Absolute difference: 1.0 (up to 1e-07 allowed)\n"
        "Relative difference: 0.4472135954999579 (up to 1e-07 allowed)"
    )
    with pytest.raises(AssertionError, match=r"difference: 1.0 at index \(0,\)"):
        close(z, z + 1)


def test_modules_of_complex_parameters(torch, device):
    layer = torch.nn.Linear(2, 3).to(device)
    weight = layer.weight
    layer.register_buffer("count", torch.ones((), dtype=torch.int64, device=device))
    assert layer.to(torch.complex64) is layer and layer.weight is weight
    assert layer.weight.dtype is torch.complex64 and layer.count.dtype is torch.int64
    z = torch.tensor([[1j, 2]], device=device)
    found = layer(z)
    assert torch.allclose(found, z @ weight.t() + layer.bias)
    found.abs().sum().backward()
    assert weight.grad.dtype is torch.complex64 and weight.grad.abs().sum() > 0
    layer.to(torch.complex128)
    assert weight.dtype is weight.grad.dtype is torch.complex128
    layer.to(torch.float32)  # keeps the imaginary parts, which PyTorch discards
    assert weight.dtype is torch.complex128
    with pytest.raises(TypeError, match="only accepts floating point or complex dtypes"):
        layer.to(torch.int64)


def scaled(forward, real, imaginary):
    """A Function of a real tensor whose complex result has gradients of `real * g.real` and
    `imaginary * g.imag`."""
    return function(lambda ctx, x: forward(x), lambda ctx, g: real * g.real + imaginary * g.imag)


@pytest.mark.parametrize("fast_mode", [False, True])
def test_complex_results_of_real_operands_are_checked(torch, fast_mode):
    check = torch.autograd.gradcheck
    x = torch.tensor([0.3, -1.2], dtype=torch.float64, requires_grad=True)

    def forward(x):
        return torch.complex(x, 2 * x)

    assert check(scaled(forward, 1, 2), (x,), fast_mode=fast_mode)
    for wrong in (scaled(forward, 1, 0), scaled(forward, 3, 2)):
        with pytest.raises(RuntimeError, match="Jacobian mismatch"):
            check(wrong, (x,), fast_mode=fast_mode)
    assert torch.autograd.gradgradcheck(lambda x: torch.complex(x * x, x), (x,))


@pytest.mark.parametrize("fast_mode", [False, True])
def test_each_of_several_results_has_its_own_jacobian(torch, fast_mode):
    check = torch.autograd.gradcheck
    x = torch.tensor([0.3, -1.2], dtype=torch.float64, requires_grad=True)

    def right(x):
        return torch.complex(x, 2 * x), x * 3, x * 1j

    assert check(right, (x,), fast_mode=fast_mode)
    wrong = function(lambda ctx, x: x * 3, lambda ctx, g: g * 2)
    with pytest.raises(RuntimeError, match="mismatch for output 1 with respect to input 0"):
        check(lambda x: (right(x)[0], wrong(x), right(x)[2]), (x,), fast_mode=fast_mode)


def test_the_older_parts_of_gradcheck_are_of_reals(torch):
    z = torch.ones(1, dtype=torch.complex128, requires_grad=True)
    module = importlib.import_module(f"{torch.__name__}.autograd.gradcheck")
    with pytest.warns(FutureWarning), pytest.raises(NotImplementedError, match="complex"):
        module.get_numerical_jacobian(lambda inputs: inputs[0] * 2, (z,))
    with pytest.warns(FutureWarning), pytest.raises(NotImplementedError, match="complex"):
        module.get_analytical_jacobian((z,), z * 2)


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_lbfgs_takes_complex_parameters_as_pairs(torch, device, search):
    def minimum(z, number):
        optimizer = torch.optim.LBFGS([z], lr=0.5, max_iter=6, line_search_fn=search)

        def closure():
            optimizer.zero_grad()
            loss = (
                ((number(z) - (1 - 2j)) * torch.tensor([1, 3j], device=device)).abs().square().sum()
            )
            loss.backward()
            return loss.detach()

        optimizer.step(closure)
        optimizer.load_state_dict(optimizer.state_dict())
        return optimizer.step(closure), optimizer.state_dict()["state"][0]["func_evals"]

    start = torch.tensor([0.5 + 2j, -1j], device=device)
    whole = start.clone().requires_grad_()
    pairs = torch.view_as_real(start.clone()).requires_grad_()
    assert minimum(whole, lambda z: z) == minimum(pairs, torch.view_as_complex)
    assert torch.equal(torch.view_as_real(whole), pairs) and not torch.equal(whole, start)
