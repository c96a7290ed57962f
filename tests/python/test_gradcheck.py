"""The checker of gradients, checked: right gradients pass, and each way of being wrong is found.
And what it has to find right although it is easily wrong: products of zeros."""

import importlib
import inspect

import pytest

from tests.harness.functions import function


@pytest.fixture
def x(torch, device):
    return torch.tensor(
        [[0.3, -1.2], [0.7, 2.0]], dtype=torch.float64, device=device
    ).requires_grad_()


@pytest.fixture
def y(torch, device):
    return torch.tensor([1.5, 0.4], dtype=torch.float64, device=device).requires_grad_()


FAST = pytest.mark.parametrize("fast_mode", [False, True])


def written(forward, backward):
    """A Function of one tensor; `backward(g, x)`."""

    def saves(ctx, x):
        ctx.save_for_backward(x)
        return forward(x)

    return function(saves, lambda ctx, g: backward(g, *ctx.saved_tensors))


@FAST
def test_right_gradients_pass(torch, x, y, fast_mode):
    check = torch.autograd.gradcheck
    constant = torch.ones_like(x).detach()
    assert check(lambda a, b: (a * b).sin(), (x, y), fast_mode=fast_mode)
    assert check(lambda a, b: ((a * b).sum(), a.exp()), (x, y), fast_mode=fast_mode)
    assert check(lambda a, c, n: a * c * n, (x, constant, 3), fast_mode=fast_mode)
    assert check(lambda a, b: a * 2, (x, y), fast_mode=fast_mode)  # does not depend on b
    assert check(lambda a: (a.detach().exp(), a.exp()), x, fast_mode=fast_mode)
    assert torch.autograd.gradgradcheck(lambda a, b: (a * b).sin(), (x, y), fast_mode=fast_mode)
    assert torch.autograd.gradgradcheck(
        lambda a: a**3, x, gen_non_contig_grad_outputs=True, fast_mode=fast_mode
    )
    seed = torch.ones((), dtype=x.dtype, device=x.device, requires_grad=True)
    assert torch.autograd.gradgradcheck(lambda a: (a**3).sum(), x, seed, fast_mode=fast_mode)


@FAST
def test_wrong_gradients_are_found(torch, x, fast_mode):
    check = torch.autograd.gradcheck
    wrong = written(lambda x: x * x, lambda g, x: 3 * g * x)
    with pytest.raises(
        RuntimeError, match="Jacobian mismatch for output 0 with respect to input 0"
    ):
        check(wrong, x, fast_mode=fast_mode)
    assert not check(wrong, x, raise_exception=False, fast_mode=fast_mode)
    second = written(lambda x: x**3, lambda g, x: 3 * g * (x * x).detach())
    assert check(second, x, fast_mode=fast_mode)
    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        torch.autograd.gradgradcheck(second, x, fast_mode=fast_mode)
    with pytest.raises(RuntimeError, match="expected to be zero"):
        check(lambda a: a.detach() * 2, x, fast_mode=fast_mode)


@FAST
def test_other_faults(torch, x, fast_mode):
    check = torch.autograd.gradcheck
    calls = [0]

    def drifting(g, x):
        calls[0] += 1
        return g * (2 + 1e-9 * calls[0])

    unsteady = written(lambda x: x * 2, drifting)
    with pytest.raises(RuntimeError, match="Backward is not reentrant"):
        check(unsteady, x, fast_mode=fast_mode)
    assert check(unsteady, x, nondet_tol=1e-6, fast_mode=fast_mode)
    unscaled = written(lambda x: (x * 2).sum(), lambda g, x: torch.full_like(x, 2))
    with pytest.raises(RuntimeError, match="backward not multiplied by grad_output"):
        check(unscaled, x, fast_mode=fast_mode)


def test_a_missing_gradient_of_one_output(torch, x):
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    def backward(ctx, g, h):
        if h is None:
            return g * 2
        invented = 1.0 if g is None and h.eq(0).all() else 0.0
        return h * 3 + invented + (0 if g is None else g * 2)

    pair = function(forward, backward)
    with pytest.raises(RuntimeError, match="input grads to be undefined or zero"):
        with pytest.warns(UserWarning, match="check_undefined_grad=False"):
            torch.autograd.gradcheck(pair, x)
    assert torch.autograd.gradcheck(pair, x, check_undefined_grad=False)


@FAST
@pytest.mark.parametrize("what", ["shape", "dtype"])
def test_outputs_keep_their_kind(torch, what, fast_mode):
    def changing(x):
        if (x < 1).all():
            return x
        return torch.cat([x, x]) if what == "shape" else x.float()

    one = torch.ones(1, dtype=torch.float64, requires_grad=True)
    with pytest.raises(AssertionError, match=f"outputs with the same {what} when inputs are"):
        torch.autograd.gradcheck(changing, one, fast_mode=fast_mode)


# Of two values and four factors of them, two each.
PRODUCTS = {
    "prod": lambda torch, a, b, at: torch.cat([a, b]).prod(),
    "prod of rows": lambda torch, a, b, at: torch.cat([a, b]).reshape(2, 3).prod(1),
    "cumprod": lambda torch, a, b, at: torch.cat([a, b]).cumprod(0),
    "scatter_reduce": lambda torch, a, b, at: a.scatter_reduce(0, at, b, "prod"),
    "scatter_reduce alone": lambda torch, a, b, at: a.scatter_reduce(
        0, at, b, "prod", include_self=False
    ),
    "index_reduce": lambda torch, a, b, at: a.index_reduce(0, at, b, "prod"),
}


@pytest.mark.parametrize("zeros", [(2,), (2, 3), (0, 2), (0, 2, 3), (2, 3, 4, 5)])
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_of_zeros(torch, name, zeros):
    values = torch.tensor([0.5, -1.5, 2.0, 0.7, -0.3, 1.2], dtype=torch.float64)
    values[list(zeros)] = 0
    a, b = values[:2].requires_grad_(), values[2:].requires_grad_()
    at = torch.tensor([0, 0, 1, 1])

    def product(a, b):
        return PRODUCTS[name](torch, a, b, at)

    assert torch.autograd.gradcheck(product, (a, b))
    assert torch.autograd.gradgradcheck(product, (a, b), atol=1e-4)


def test_inputs(torch, x, y):
    check = torch.autograd.gradcheck
    with pytest.raises(ValueError, match="expects at least one input tensor to require gradient"):
        check(torch.exp, x.detach())
    with pytest.raises(RuntimeError, match="0th input has a dimension with stride 0"):
        check(torch.exp, y.expand(3, 2))
    single = x.detach().float().requires_grad_()
    with pytest.warns(UserWarning, match="not a double precision"):
        assert check(torch.exp, single, eps=1e-2, atol=1e-2)
    with pytest.raises(AssertionError, match="at least one of check_forward_ad"):
        check(torch.exp, x, check_backward_ad=False)
    with pytest.raises(NotImplementedError, match="forward-mode"):
        check(torch.exp, x, check_forward_ad=True)
    with pytest.raises(NotImplementedError, match="check_batched_forward_grad=False"):
        check(torch.exp, x, check_batched_forward_grad=True)


def test_rows_of_start_gradients(torch, x, y):
    def both(a, b):
        return a.exp() * b, b.sin(), a.pow(3).sum()

    assert torch.autograd.gradcheck(both, (x, y), check_batched_grad=True)
    assert torch.autograd.gradgradcheck(both, (x, y), check_batched_grad=True)

    def backward(g, _):  # right for one row at a time, wrong for a batch
        batched = any(f.function == "_by_rows" for f in inspect.stack())
        return g * (3 if batched else 2)

    counted = written(lambda a: a * 2, backward)
    assert torch.autograd.gradcheck(counted, x)
    with pytest.raises(RuntimeError, match="While computing batched gradients: for output 0"):
        torch.autograd.gradcheck(counted, x, check_batched_grad=True)
    assert not torch.autograd.gradcheck(counted, x, check_batched_grad=True, raise_exception=False)


def test_random_numbers_of_the_program_are_left_alone(torch, x):
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    torch.autograd.gradcheck(torch.exp, x, fast_mode=True)
    assert torch.equal(torch.rand(3), expected)


def test_the_module_of_that_name_is_callable(torch, x):
    import importlib

    module = importlib.import_module(f"{torch.__name__}.autograd.gradcheck")
    assert issubclass(module.GradcheckError, RuntimeError)
    assert torch.autograd.gradcheck(torch.exp, x) and module.gradcheck(torch.exp, x)


def test_older_parts(torch, x):
    parts = importlib.import_module("flambeau.autograd.gradcheck")
    z = (x.detach() * 2).requires_grad_()

    def pair(inputs):
        x, z = inputs
        return 2 * x + z, x

    eye = torch.eye(4).to(x)
    with pytest.warns(FutureWarning, match="part of PyTorch's private API"):
        both = parts.get_numerical_jacobian(pair, (x, z), eps=1e-6)
        (alone,) = parts.get_numerical_jacobian(pair, (x, z), z, eps=1e-6)
    for found, expected in zip((*both, alone), (2 * eye, eye, eye)):
        assert torch.allclose(found, expected)
    with pytest.warns(FutureWarning, match="part of PyTorch's private API"):
        found, *sound = parts.get_analytical_jacobian((x, z), pair((x, z))[0])
    assert torch.equal(found[0], 2 * eye) and torch.equal(found[1], eye) and all(sound)
    drifting = written(torch.clone, lambda g, x: g * torch.rand_like(g))
    with pytest.warns(FutureWarning):
        assert not parts.get_analytical_jacobian((x,), drifting(x))[1]
    for of in (
        lambda: parts.get_numerical_jacobian(pair, (x, z), grad_out=2.0),
        lambda: parts.get_analytical_jacobian((x,), x * 1, grad_out=2.0),
    ):
        with pytest.warns(FutureWarning), pytest.raises(ValueError, match="grad_out to be 1.0"):
            of()
