"""`torch.func.vmap` and what stands on it: per-example gradients, ensembles."""

import pytest


@pytest.fixture
def x(torch, device):
    return torch.arange(12.0, device=device).view(3, 4)


def test_dimensions(torch, x):
    vmap = torch.func.vmap
    assert torch.vmap is vmap
    assert vmap(torch.dot)(x, x).tolist() == [14, 126, 366]
    assert vmap(torch.Tensor.sum, in_dims=1)(x).tolist() == [12, 15, 18, 21]
    assert vmap(lambda a, b: a * b, in_dims=(0, None))(x, x[0]).equal(x * x[0])
    assert vmap(lambda a: a * 2, out_dims=1)(x).equal(2 * x.T)
    first, second = vmap(lambda a: (a, a.sum()), out_dims=(-1, 0))(x)
    assert first.equal(x.T) and second.equal(x.sum(1))
    tree = {"x": x, "scale": torch.full((), 2.0, device=x.device)}
    scaled = vmap(lambda d: d["x"] * d["scale"], in_dims=({"x": 0, "scale": None},))(tree)
    assert scaled.equal(2 * x)
    product = vmap(vmap(lambda a, b: a * b, in_dims=(None, 0)), in_dims=(0, None))
    assert product(x[0], x[1]).equal(torch.outer(x[0], x[1]))


def test_gradients_of_examples(torch, x):
    w = torch.linspace(-1, 1, 4, device=x.device)

    def loss(w, a):
        return (w * a).sin().sum()

    each = torch.vmap(torch.func.grad(loss), in_dims=(None, 0))(w, x)
    assert torch.allclose(each, (w * x).cos() * x)
    leaf = w.clone().requires_grad_()
    torch.vmap(loss, in_dims=(None, 0))(leaf, x).sum().backward()
    assert torch.allclose(leaf.grad, each.sum(0))


def test_ensemble(torch, device):
    models = [torch.nn.Linear(4, 2).to(device) for _ in range(3)]
    params, buffers = torch.func.stack_module_state(models)
    assert list(params) == ["weight", "bias"] and buffers == {}
    assert params["weight"].is_leaf and params["weight"].requires_grad
    batch = torch.randn(5, 4, device=device)

    def run(params, buffers, batch):
        return torch.func.functional_call(models[0], (params, buffers), batch)

    got = torch.vmap(run, in_dims=(0, 0, None))(params, buffers, batch)
    assert got.shape == (3, 5, 2)
    for one, model in zip(got, models):
        assert torch.allclose(one, model(batch), atol=1e-6)
    got.sum().backward()
    assert params["weight"].grad.shape == (3, 2, 4)


def test_randomness(torch, device):
    x = torch.zeros(3, 5, device=device)

    def noisy(a):
        return a + torch.rand(5, device=a.device)

    with pytest.raises(RuntimeError, match="called random operation while in randomness error"):
        torch.vmap(noisy)(x)
    same = torch.vmap(noisy, randomness="same")(x)
    assert same[0].equal(same[1]) and same[0].equal(same[2])
    different = torch.vmap(noisy, randomness="different")(x)
    assert not different[0].equal(different[1])


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda v, x: v(lambda a: a)(3), "non-Tensor arguments"),
        (lambda v, x: v(lambda a: a, in_dims=5)(x), "dimensionality 2"),
        (lambda v, x: v(lambda a: a, in_dims="x")(x), "to be int or a"),
        (lambda v, x: v(lambda a: a, in_dims=(0, 0))(x), "not compatible with the structure"),
        (lambda v, x: v(lambda a: (a, a), out_dims=(0,))(x), "not compatible with the structure"),
        (lambda v, x: v(lambda a, b: a)(x, x[:2]), r"same size.*got sizes \[3, 2\]"),
        (lambda v, x: v(lambda a: 3)(x), "must only return Tensors"),
        (lambda v, x: v(lambda: 1)(), "got no inputs"),
        (lambda v, x: v(lambda a: a, out_dims=None)(x), "when out_dim is None"),
        (lambda v, x: v(lambda a: a.sum().item(), out_dims=None)(x), "when out_dim is None"),
        (lambda v, x: v(lambda a: a, out_dims="x")(x), "a python collection of ints"),
        (lambda v, x: v(lambda a: a, out_dims=(0.0,))(x), "a python collection of ints"),
        (lambda v, x: v(lambda a: a[0], in_dims=((0, 0),))([x, x]), "not compatible with"),
        (lambda v, x: v(lambda a: [a, a], out_dims=(0, 0))(x), "not compatible with"),
        (lambda v, x: v(lambda a: a, in_dims=None)(x), "in_dims"),
        (lambda v, x: v(lambda a: a, in_dims=(None,))(x), "at least one Tensor"),
        (lambda v, x: v(lambda a: a, chunk_size=0)(x), "chunk_size"),
    ],
)
def test_errors(torch, x, call, text):
    with pytest.raises(ValueError, match=text):
        call(torch.vmap, x)


def test_what_no_example_changes_is_returned_as_it_is(torch, x):
    doubled, text, nothing = torch.vmap(lambda a: (a * 2, "text", None), out_dims=(0, None, None))(
        x
    )
    assert doubled.equal(x * 2) and text == "text" and nothing is None


def test_linearize(torch, x):
    value, product = torch.func.linearize(torch.sin, x)
    assert value.equal(x.sin()) and torch.allclose(product(torch.ones_like(x)), x.cos())


PULLS = {
    "grad": lambda torch, y, x, v: torch.autograd.grad(y, x, v)[0],
    "freed": lambda torch, y, x, v: torch.autograd.grad(y, x, v, retain_graph=False)[0],
    "nested": lambda torch, y, x, v: torch.vmap(lambda w: torch.autograd.grad(y, x, w)[0])(
        torch.stack([v, 2 * v])
    ),
}


@pytest.mark.parametrize("name", PULLS)
def test_a_graph_from_outside_is_there_for_every_example(torch, name):
    """The rows of a Jacobian, each by one pass; the last one frees the graph."""
    x = torch.randn(4, requires_grad=True)
    y = x * x
    found = torch.vmap(lambda v: PULLS[name](torch, y, x, v))(torch.eye(4))
    wanted = torch.diag(2 * x.detach())
    assert found.equal(torch.stack([wanted, 2 * wanted], 1) if name == "nested" else wanted)
    with pytest.raises(RuntimeError, match="second time"):
        torch.autograd.grad(y.sum(), x)


def test_a_failed_example_leaves_passes_as_they_were(torch):
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(ZeroDivisionError):
        torch.vmap(lambda v: 1 // 0)(torch.eye(2))
    y = x * x
    y.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.sum().backward()


@pytest.mark.parametrize("write", ["add_", "copy_", "mul_"])
def test_one_argument_for_all_examples_is_not_written(torch, x, write):
    """Each example would find what those before it wrote."""
    one = torch.ones(4, device=x.device)

    def func(a, b):
        return getattr(a, write)(b)

    with pytest.raises(RuntimeError, match="writes in place to an argument whose in_dim is None"):
        torch.func.vmap(func, in_dims=(None, 0))(one, x)
    own = x.clone()
    torch.func.vmap(func)(own, x)
    assert own.equal(getattr(x.clone(), write)(x))
    only = torch.ones(4, device=x.device)
    torch.func.vmap(func, in_dims=(None, 0))(only, x[:1])
    assert only.equal(getattr(torch.ones(4, device=x.device), write)(x[0]))


def test_an_expanded_argument_is_one_for_all_examples(torch, x):
    """As the message advises: a copy for each example may be written, what expand() makes not."""
    one = torch.ones(4, device=x.device)
    with pytest.raises(RuntimeError, match="examples share their memory.*clone()"):
        torch.vmap(torch.Tensor.add_)(one.expand(3, 4), x)
    with pytest.raises(RuntimeError, match="examples share their memory"):
        torch.vmap(torch.Tensor.add_, in_dims=(1, 0))(one[:, None].expand(4, 3), x)
    one.fill_(1)
    assert torch.vmap(torch.Tensor.add_)(one.expand(3, *one.shape).clone(), x).equal(1 + x)
    assert torch.vmap(torch.add)(one.expand(3, 4), x).equal(1 + x)


def test_an_argument_with_a_name_is_one_for_all_examples(torch, x):
    def func(b, *, state):
        return state["a"].add_(b)

    state = {"a": torch.ones(4, device=x.device)}
    with pytest.raises(RuntimeError, match="writes in place to an argument that is given by its"):
        torch.vmap(func)(x, state=state)
    torch.vmap(func)(x[:1], state=state)


def test_views_of_one_tensor_may_be_written_and_read(torch, device):
    """Their writes are counted together; what matters is whether the one for all has changed."""
    base = torch.ones(2, 3, 4, device=device)
    base[1, 0, 0] = float("nan")
    got = torch.vmap(torch.Tensor.add_, in_dims=(0, None))(base[0], base[1, 1])
    assert got.tolist() == [[2.0] * 4] * 3 and base[1, 1].tolist() == [1.0] * 4
    torch.vmap(lambda a, b: a.mul_(2), in_dims=(0, None))(base[0], base[1, 0])
    with pytest.raises(RuntimeError, match="argument whose in_dim is None"):
        torch.vmap(torch.Tensor.add_, in_dims=(0, None))(base[1], base[1, 0])
