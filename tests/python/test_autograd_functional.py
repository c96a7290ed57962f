"""Products with Jacobians and Hessians, the matrices themselves, and the errors that say what is
wrong with a function, its inputs or a vector."""

import pytest


@pytest.fixture
def F(torch):
    return torch.autograd.functional


@pytest.fixture
def a(torch, device):
    return torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float64, device=device)


@pytest.fixture
def b(torch, device):
    return torch.tensor([0.5, -1.0], dtype=torch.float64, device=device)


def test_jacobian(torch, F, a, b):
    found = F.jacobian(lambda x: (x * x).sum(1), a)
    assert found.shape == (2, 2, 2) and not found.requires_grad
    assert found.tolist() == [[[2, 4], [0, 0]], [[0, 0], [6, 8]]]
    found = F.jacobian(lambda x, y: (x @ y, y.sum()), (a, b))
    assert len(found) == 2 and len(found[0]) == 2
    assert found[0][1].tolist() == a.tolist() and found[1][1].tolist() == [1, 1]
    assert found[1][0].tolist() == [[0, 0], [0, 0]]  # independent of x
    assert torch.equal(F.jacobian(torch.exp, b, vectorize=True), torch.diag(b.exp()))
    assert F.jacobian(lambda x: x[:0] * 2, b).shape == (0, 2)


def test_hessian(torch, F, b):
    assert torch.equal(F.hessian(lambda x: (x**3).sum(), b), torch.diag(6 * b))
    found = F.hessian(lambda x, y: (x * x * y).sum(), (b, b))
    expected = [[2 * b, 2 * b], [2 * b, 0 * b]]
    for row, wanted in zip(found, expected):
        assert all(torch.equal(h, torch.diag(w)) for h, w in zip(row, wanted))


def test_products_are_those_with_the_matrices(torch, F, a, b):
    def function(x):
        return (x.exp() * x.sum()).sum(0)

    matrix = F.jacobian(function, a)
    v, w = torch.tensor([0.3, -2.0]).to(a), torch.tensor([[1.0, 2], [-1, 0.5]]).to(a)
    out, product = F.vjp(function, a, v)
    assert torch.equal(out, function(a))
    assert torch.allclose(product, torch.einsum("i,ijk->jk", v, matrix))
    out, product = F.jvp(function, a, w)
    assert torch.allclose(product, torch.einsum("ijk,jk->i", matrix, w))

    def scalar(x):
        return (x.exp() * x.sum()).sum()

    matrix = F.hessian(scalar, b)
    for name in ("vhp", "hvp"):
        out, product = getattr(F, name)(scalar, b, v)
        assert torch.equal(out, scalar(b)) and torch.allclose(product, matrix @ v), name
    out, (first, second) = F.hvp(lambda x, y: (x * y * y).sum(), (b, b), (v, v))
    assert torch.allclose(first, 2 * b * v) and torch.allclose(second, 4 * b * v)


@pytest.mark.parametrize("name", ["vjp", "jvp", "vhp", "hvp"])
def test_create_graph(torch, F, b, name):
    x = b.clone().requires_grad_()
    v = torch.ones_like(b)
    function = (lambda x: (x**3).sum()) if "h" in name else (lambda x: x**3)
    product = getattr(F, name)
    assert not product(function, x, v)[1].requires_grad
    found = product(function, x, v, create_graph=True)[1]
    (slope,) = torch.autograd.grad(found.sum(), x)
    assert torch.allclose(slope, 6 * torch.ones_like(b) if "h" in name else 6 * b)
    (slope,) = torch.autograd.grad(F.jacobian(torch.exp, x, create_graph=True).sum(), x)
    assert torch.allclose(slope, x.exp())


def test_an_argument_that_the_function_captures_is_not_its_input(torch, F, b):
    x = b.clone().requires_grad_()
    assert torch.equal(F.vjp(lambda y: (x * y).sum(), x)[1], b)


def test_strict(torch, F, a, b):
    with pytest.raises(RuntimeError, match="Output 0 of the user-provided function is independent"):
        F.jacobian(lambda x, y: x * 2, (b, b), strict=True)
    with pytest.raises(RuntimeError, match="independent of input 1. This is not allowed in strict"):
        F.vjp(lambda x, y: (x * 2).sum(), (b, b), strict=True)
    with pytest.raises(RuntimeError, match="Output 0 .* does not require gradients"):
        F.vjp(lambda x: torch.ones(1), b, strict=True)
    for name in ("vhp", "hvp"):
        with pytest.raises(
            RuntimeError, match="jacobian .* with respect to input 0 is independent"
        ):
            getattr(F, name)(lambda x: x.sum(), b, b, strict=True)
    assert F.hessian(lambda x: x.sum(), b).tolist() == [[0, 0], [0, 0]]
    with pytest.raises(RuntimeError, match="`strict=True` and `vectorized=True`"):
        F.jacobian(torch.exp, b, strict=True, vectorize=True)


@pytest.mark.parametrize(
    "call, kind, text",
    [
        (lambda F, a: F.vjp(lambda x: x.sum(1), a), RuntimeError, "v can only be None if the user"),
        (lambda F, a: F.jvp(lambda x: x, a), RuntimeError, "v can only be None if the input"),
        (lambda F, a: F.vjp(lambda x: x, a, a[0]), RuntimeError, "v has invalid size: should be"),
        (lambda F, a: F.jvp(lambda x, y: x, (a, a), a), RuntimeError, "tuple of invalid length"),
        (lambda F, a: F.vjp(lambda x: x, [a], a), TypeError, "given inputs has type <class 'list'"),
        (lambda F, a: F.vjp(lambda x, y: x, (a, 3)), TypeError, "value at index 1 has type"),
        (lambda F, a: F.jacobian(lambda x: 3, a), TypeError, "outputs of the user-provided func"),
        (lambda F, a: F.hessian(lambda x: x, a), RuntimeError, "should contain a single element"),
        (lambda F, a: F.hvp(lambda x: (x.sum(),), a, a), RuntimeError, "return a single Tensor"),
        (
            lambda F, a: F.jacobian(lambda x: x, a, strategy="x"),
            AssertionError,
            "Expected strategy",
        ),
        (
            lambda F, a: F.jacobian(lambda x: x, a, strategy="forward-mode"),
            NotImplementedError,
            "forward-mode",
        ),
    ],
)
def test_errors(F, a, call, kind, text):
    with pytest.raises(kind, match=text):
        call(F, a)


def test_forward_mode_is_refused(torch):
    for name in ("dual_level", "make_dual", "enter_dual_level"):
        with pytest.raises(NotImplementedError, match="autograd.functional.jvp"):
            getattr(torch.autograd.forward_ad, name)()
