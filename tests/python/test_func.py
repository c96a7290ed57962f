"""torch.func: gradients as functions, nested, of containers, and modules with other parameters."""

import pytest


@pytest.fixture
def func(torch):
    return torch.func


@pytest.fixture
def x(torch, device):
    return torch.tensor([0.5, -1.0, 2.0], dtype=torch.float64, device=device)


def test_grad(torch, func, x):
    found = func.grad(lambda x: (x**3).sum())(x)
    assert torch.allclose(found, 3 * x**2) and not found.requires_grad
    found = func.grad(func.grad(lambda x: x**3))(x[2])
    assert found.item() == 12 and not found.requires_grad
    first, second = func.grad(lambda a, b: (a * a * b).sum(), argnums=(0, 1))(x, x + 1)
    assert torch.equal(first, 2 * x * (x + 1)) and torch.equal(second, x * x)
    slope, (value, aux) = func.grad_and_value(lambda x: (x.sum(), x * 2), has_aux=True)(x)
    assert slope.tolist() == [1, 1, 1] and value == x.sum() and aux.tolist() == (x * 2).tolist()
    assert not value.requires_grad and not aux.requires_grad
    with torch.no_grad():
        assert torch.allclose(func.grad(lambda x: (x**3).sum())(x), 3 * x**2)


def test_containers(torch, func, x):
    found = func.grad(lambda p: (p["a"] * p["b"][0]).sum())({"a": x, "b": [x + 1]})
    assert torch.equal(found["a"], x + 1) and torch.equal(found["b"][0], x)


def test_history_is_kept_where_something_outside_requires_it(torch, func, x):
    w = x.clone().requires_grad_()
    found = func.grad(lambda x: (w * x * x).sum())(x)
    assert found.requires_grad
    (slope,) = torch.autograd.grad(found.sum(), w)
    assert torch.equal(slope, 2 * x)
    found = func.grad(lambda y: (y**3).sum())(w)
    (slope,) = torch.autograd.grad(found.sum(), w)
    assert torch.allclose(slope, 6 * x)
    with torch.no_grad():
        assert not func.grad(lambda x: (w * x * x).sum())(x).requires_grad


def test_products_and_matrices(torch, func, x):
    def function(x):
        return x.exp() * x.sum()

    matrix = func.jacrev(function)(x)
    assert torch.allclose(matrix, torch.autograd.functional.jacobian(function, x))
    assert torch.equal(func.jacfwd(function)(x), matrix)
    v = torch.tensor([1.0, 0.5, -2.0]).to(x)
    value, product = func.vjp(function, x)
    assert torch.equal(value, function(x)) and not value.requires_grad
    assert torch.allclose(product(v)[0], v @ matrix)
    assert torch.allclose(product(v)[0], v @ matrix)  # as often as wanted
    value, tangent = func.jvp(function, (x,), (v,))
    assert torch.equal(value, function(x)) and torch.allclose(tangent, matrix @ v)
    assert torch.allclose(func.hessian(lambda x: (x**3).sum())(x), torch.diag(6 * x))
    assert func.hessian(lambda x: x.sum())(x).tolist() == [[0] * 3] * 3
    found, aux = func.jacrev(lambda x: (x * 2, x), has_aux=True)(x)
    assert torch.equal(aux, x) and torch.equal(found, 2 * torch.eye(3).to(x))
    for of in (func.jacrev, func.jacfwd, func.grad, func.grad_and_value):
        with pytest.raises(RuntimeError, match="Expected tensors, got unsupported type"):
            of(lambda x: (x.sum(), "aux"), has_aux=True)(x)


def test_errors(torch, func, x):
    with pytest.raises(RuntimeError, match="scalar tensor, got tensor with 1 dims"):
        func.grad(lambda x: x)(x)
    with pytest.raises(RuntimeError, match="Expected f.*to return a tensor"):
        func.grad(lambda x: 3)(x)
    with pytest.raises(RuntimeError, match=r"Got argnum=1, but only 1 positional inputs"):
        func.grad(lambda x: x, argnums=1)(x)
    with pytest.raises(RuntimeError, match="should be a tuple: .output, aux."):
        func.grad(lambda x: x.sum(), has_aux=True)(x)


def test_functional_call(torch, func, device):
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Tanh(), torch.nn.Linear(2, 1))
    model = model.to(device)
    x = torch.randn(4, 3, device=device)
    before = model[0].weight
    params = {n: p.detach() * 2 for n, p in model.named_parameters()}
    expected = torch.tanh(x @ params["0.weight"].T + params["0.bias"]) @ params["2.weight"].T
    found = func.functional_call(model, params, (x,))
    assert torch.allclose(found, expected + params["2.bias"], atol=1e-6)
    assert model[0].weight is before
    slopes = func.grad(lambda p: func.functional_call(model, p, x).sum())(params)
    assert set(slopes) == set(params) and slopes["2.bias"].tolist() == [4]
    part = {"2.bias": torch.zeros(1, device=device)}
    assert torch.allclose(func.functional_call(model, part, x), model(x) - model[2].bias)
    with pytest.raises(RuntimeError, match="Missing key.s.: '0.bias', '0.weight'"):
        func.functional_call(model, part, x, strict=True)
    with pytest.raises(RuntimeError, match="Unexpected key.s.: 'nothing'"):
        func.functional_call(model, {**params, "nothing": x}, x, strict=True)
    with pytest.raises(ValueError, match="appeared in multiple dictionaries"):
        func.functional_call(model, (part, part), x)
    with pytest.raises(RuntimeError):
        func.functional_call(model, params, x[:, :2])
    assert model[0].weight is before


def test_functional_call_ties_and_buffers(torch, func):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = torch.nn.Parameter(torch.ones(1))
            self.b = self.a
            self.register_buffer("count", torch.zeros(1))

        def forward(self, x):
            self.count = self.count + 1
            return x + self.a + self.b

    model, zero = Model(), torch.zeros(1)
    assert func.functional_call(model, {"a": zero}, zero).item() == 0
    assert func.functional_call(model, {"a": zero}, zero, tie_weights=False).item() == 1
    with pytest.raises(ValueError, match="are tied"):
        func.functional_call(model, {"a": zero, "b": torch.ones(1)}, zero)
    values = {"count": torch.full((1,), 5.0)}
    func.functional_call(model, values, zero)
    assert values["count"].item() == 6
    assert model.count.item() == 2 and model.a.item() == 1


def test_functional_call_with_what_is_no_tensor(torch):
    call, module = torch.func.functional_call, torch.nn.Linear(2, 1)
    weight, x = torch.ones(1, 2), torch.ones(1, 2)
    module.scale = 0.5
    assert call(module, {"weight": weight, "bias": None}, x).item() == 2
    assert module.bias is not None
    with pytest.raises(TypeError, match="attribute `scale`: 0.5 is not an instance"):
        call(module, {"scale": weight}, x)
    with pytest.raises(TypeError, match="3 is not an instance"):
        call(module, {"weight": 3}, x)


@pytest.mark.parametrize("of", ["grad", "grad_and_value", "jacrev", "jacfwd"])
@pytest.mark.parametrize(
    "argnums, text",
    [
        ((), "must be non-empty"),
        ([0], "must be int or Tuple"),
        (0.0, "must be int or Tuple"),
        ((1, 0.0), "must be int"),
        ((0, -2), "must be unique"),
        (-3, "only 2 positional inputs"),
    ],
)
def test_arguments_to_differentiate_by(torch, func, x, of, argnums, text):
    with pytest.raises(RuntimeError, match=text):
        getattr(func, of)(lambda a, b: (a * b).sum(), argnums=argnums)(x, x)


@pytest.mark.parametrize(
    "output, text",
    [
        (None, "non-empty output"),
        ((), "non-empty output"),
        ("text", "only tensors"),
        ([1.5], "only tensors"),
    ],
)
def test_outputs_that_have_no_matrix(torch, func, x, output, text):
    for of in func.jacrev, func.jacfwd, func.vjp:
        with pytest.raises(RuntimeError, match=r"vjp\(f, \*primals\): .*" + text):
            of(lambda _: output, x) if of is func.vjp else of(lambda _: output)(x)
    with pytest.raises(RuntimeError, match=r"jvp\(f, primals, tangents\): .*" + text):
        func.jvp(lambda _: output, (x,), (x,))


def test_cotangents_are_made_as_the_outputs(torch, func, x):
    _, product = func.vjp(lambda x: (x, [x, {"y": x}]), x)
    assert product((x, [x, {"y": x}]), retain_graph=False)[0].equal(3 * x)
    for other in (x, x, x), (x, (x, {"y": x})), ((x, [x, {"y": x}]),), (x, [x, {"z": x}]):
        with pytest.raises(RuntimeError, match="Expected pytree structure of cotangents"):
            product(other)


def test_tangents_are_made_as_the_primals(torch, func, x):
    def function(a, b):
        return a[0] + 2 * a[1] + 3 * b

    value, tangent = func.jvp(function, ((x, x), x), ((x, x), x))
    assert value.equal(6 * x) and tangent.equal(6 * x)
    for primals, tangents, text in (
        (x, x, "primals to be a tuple"),
        (((x, x), x), (x, x), "same python structure"),
        ((x,), x, "same python structure"),
        ((x,), [x], "same python structure"),
        ((x,), (x[:1],), "same shapes"),
        ((), (), "at least one Tensor"),
        ((x, 1.0), (x, x), "only contain Tensors"),
        ((x,), (1.0,), "only contain Tensors"),
    ):
        with pytest.raises(RuntimeError, match=text):
            func.jvp(function, primals, tangents)


def test_strict_products_of_outputs_that_depend_on_nothing(torch, func, x):
    other = x * 2
    _, (slope, zero) = func.jvp(lambda x: (x.sin(), other), (x,), (x,))
    assert torch.allclose(slope, x.cos() * x) and not zero.any()
    assert func.jvp(torch.sin, (x,), (x,), strict=True)[1].equal(slope)
    with pytest.raises(RuntimeError, match="strict"):
        func.jvp(lambda x: (x, other), (x,), (x,), strict=True)


def test_a_transformed_function_keeps_its_name(torch, func):
    def named(x):
        """What it does."""

    for of in func.grad, func.grad_and_value, func.jacrev, func.jacfwd, func.vmap:
        assert of(named).__name__ == "named" and of(named).__doc__ == "What it does."
    with pytest.raises(ValueError, match="`chunk_size` should be greater than 0"):
        func.jacrev(named, chunk_size=0)


def test_a_function_may_say_what_forward_mode_needs(torch, x):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_forward(*inputs)
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 2 * x * grad

        @staticmethod
        def jvp(ctx, tangent):
            raise AssertionError("nothing calls it")

    assert torch.func.grad(lambda x: Square.apply(x).sum())(x).equal(2 * x)
    assert Square.generate_vmap_rule is False and callable(Square.vmap)
