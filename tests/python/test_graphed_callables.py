"""`torch.cuda.make_graphed_callables`: what it makes has the bits of what it was given, forward and
backward, wherever operands lie and gradients add up; what does not fit the samples says so."""

import copy

import pytest


@pytest.fixture(autouse=True)
def on_a_gpu(device):
    if device == "cpu":
        pytest.skip("the cpu has no graphs")


def losses(torch, models, steps=20, zero_every=2):
    """Of a chain of models, gradients of two steps added up at a time; and the parameters."""
    torch.manual_seed(3)
    parameters = [p for m in models for p in m.parameters()]
    optimizer = torch.optim.SGD(parameters, lr=0.05, momentum=0.9)
    found = []
    for i in range(steps):
        x = torch.randn(8, 16, device="cuda")
        for model in models:
            x = model(x)
        loss = (x * x).mean()
        loss.backward()
        if i % zero_every == zero_every - 1:
            optimizer.step()
            optimizer.zero_grad()
        found.append(loss)
    return torch.stack(found).detach().cpu(), [p.detach().cpu() for p in parameters]


def chain(torch):
    nn = torch.nn
    torch.manual_seed(1)
    first = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 16))
    return [m.to("cuda") for m in (first, nn.LayerNorm(16), nn.Linear(16, 4))]


@pytest.mark.parametrize("several", [False, True])
def test_a_training_has_the_bits_of_an_eager_one(torch, several):
    eager = chain(torch)
    graphed = copy.deepcopy(eager)
    sample = torch.randn(8, 16, device="cuda")
    if several:
        inner = torch.randn(8, 16, device="cuda", requires_grad=True)
        made = torch.cuda.make_graphed_callables(
            tuple(graphed), ((sample,), (inner,), (inner.detach().requires_grad_(),))
        )
        assert isinstance(made, tuple) and list(made) == graphed
    else:
        assert torch.cuda.make_graphed_callables(graphed[0], (sample,)) is graphed[0]
    wanted, found = losses(torch, eager), losses(torch, graphed)
    assert torch.equal(found[0], wanted[0]) and len(set(wanted[0].tolist())) == 20
    assert all(torch.equal(a, b) for a, b in zip(found[1], wanted[1]))


def test_a_function_takes_and_gives_trees(torch):
    def function(pair, scale):
        a, b = pair
        return {"sum": a * scale + b, "index": (a > 0).long(), "kept": b.detach() * 2}

    def made(seed, grad):
        torch.manual_seed(seed)
        draw = [torch.randn(5, device="cuda") for _ in range(3)]
        return [t.requires_grad_(g) for t, g in zip(draw, grad)]

    grad = (True, False, True)
    a, b, scale = made(0, grad)
    graphed = torch.cuda.make_graphed_callables(function, ((a, b), scale))
    for seed in (1, 2):
        a, b, scale = made(seed, grad)
        wanted, found = function((a, b), scale), graphed((a, b), scale)
        assert list(found) == list(wanted)
        assert all(torch.equal(found[k], wanted[k]) for k in wanted)
        assert [found[k].requires_grad for k in found] == [True, False, False]
        expected = torch.autograd.grad(wanted["sum"].square().sum(), (a, scale))
        got = torch.autograd.grad(found["sum"].square().sum(), (a, scale))
        assert all(torch.equal(x, y) for x, y in zip(got, expected))


def test_evaluation_runs_the_modules_own_forward(torch):
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.5)).to("cuda")
    torch.cuda.make_graphed_callables(model, (torch.randn(3, 4, device="cuda"),))
    x = torch.randn(7, 4, device="cuda")
    model.eval()
    assert torch.equal(model(x), model[0](x))
    model.train()
    with pytest.raises(RuntimeError, match="like its sample_args"):
        model(x)
    assert model(x[:3]).eq(0).any()


def test_what_does_not_fit_says_so(torch):
    x = torch.randn(3, 4, device="cuda")
    hooked = torch.nn.Linear(4, 4).to("cuda")
    hooked.register_forward_hook(lambda *_: None)
    make = torch.cuda.make_graphed_callables
    with pytest.raises(RuntimeError, match="hooks afterwards"):
        make(hooked, (x,))
    with pytest.raises(TypeError, match="tensors only"):
        make(lambda x, n: x * n, (x, 2))
    with torch.autocast("cuda"), pytest.raises(RuntimeError, match="cache_enabled=False"):
        make(torch.relu, (x,))
    twice = make(lambda x: x * 2, (x,))
    for wrong in (x[:2], x.double(), x.cpu(), x.clone().requires_grad_()):
        with pytest.raises(RuntimeError, match="tensor 0 was"):
            twice(wrong)
    with pytest.raises(RuntimeError, match="nested"):
        twice([x])
    assert torch.equal(twice(x), x * 2)
