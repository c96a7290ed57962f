"""Recomputation: gradients equal bit by bit to those without it, with less memory; random numbers,
autocast and modes of the first run; what differs the second time is told."""

import functools
import gc
import weakref

import pytest

BOTH = pytest.mark.parametrize("use_reentrant", [True, False])


@pytest.fixture
def checkpoint(torch):
    return torch.utils.checkpoint.checkpoint


@pytest.fixture
def recomputed(checkpoint):
    return functools.partial(checkpoint, use_reentrant=False)


def network(torch, device, dropout=0.25):
    torch.manual_seed(3)
    nn = torch.nn
    return nn.Sequential(
        nn.Linear(16, 64), nn.GELU(), nn.Dropout(dropout), nn.LayerNorm(64), nn.Linear(64, 16)
    ).to(device)


def gradients(torch, model, x, run):
    model.zero_grad()
    x = x.detach().requires_grad_()
    torch.manual_seed(11)
    y = run(x)
    (y * y).sum().backward()
    return [y.detach(), x.grad, *(p.grad for p in model.parameters())]


@BOTH
def test_gradients_are_equal_bit_by_bit(torch, device, checkpoint, use_reentrant):
    model = network(torch, device)
    x = torch.randn(8, 16, device=device)
    plain = gradients(torch, model, x, model)
    again = gradients(torch, model, x, lambda x: checkpoint(model, x, use_reentrant=use_reentrant))
    assert len(plain) == len(again) == 8
    assert all(torch.equal(a, b) for a, b in zip(plain, again))


@BOTH
def test_random_numbers_go_on_as_without(torch, device, checkpoint, use_reentrant):
    model = network(torch, device)
    x = torch.randn(8, 16, device=device)
    after = []
    for run in (model, lambda x: checkpoint(model, x, use_reentrant=use_reentrant)):
        gradients(torch, model, x, run)
        after.append(torch.rand(4, device=device))
    assert torch.equal(*after)


@BOTH
def test_without_the_random_state_dropout_differs(torch, device, checkpoint, use_reentrant):
    drop = torch.nn.Dropout(0.5)
    x = torch.ones(1000, device=device, requires_grad=True)
    options = {"use_reentrant": use_reentrant, "preserve_rng_state": False}
    y = checkpoint(lambda x: drop(x) * x, x, **options)
    y.sum().backward()
    assert not torch.equal(x.grad != 0, y != 0)
    x.grad = None
    y = checkpoint(lambda x: drop(x) * x, x, use_reentrant=use_reentrant)
    y.sum().backward()
    assert torch.equal(x.grad != 0, y != 0)


@BOTH
def test_memory_falls(torch, device, checkpoint, use_reentrant):
    layers = [torch.nn.Linear(64, 64).to(device) for _ in range(16)]
    x = torch.randn(512, 64, device=device, requires_grad=True)
    from tests.harness.gen import api  # every device counts, the cpu too

    def block(x, part):
        for layer in part:
            x = torch.tanh(layer(x))
        return x

    def peak(segments):
        gc.collect()
        api.memory_reset_peak_stats(device)
        before = api.memory_allocated(device)
        y = x
        for i in range(0, 16, 16 // segments):
            part = layers[i : i + 16 // segments]
            y = (
                block(y, part)
                if segments == 1
                else checkpoint(block, y, part, use_reentrant=use_reentrant)
            )
        kept = api.memory_allocated(device) - before
        y.sum().backward()
        most = api.memory_max_allocated(device) - before
        for p in (x, *(p for layer in layers for p in layer.parameters())):
            p.grad = None
        return kept, most

    one = 512 * 64 * 4
    kept, most = peak(1)
    kept_less, most_less = peak(4)
    assert kept > 15 * one and kept_less < 6 * one, (kept / one, kept_less / one)
    assert most_less < most - 5 * one, (most / one, most_less / one)


def test_nested(torch, device, recomputed):
    model = network(torch, device)
    runs = [0, 0]

    def inner(x):
        runs[1] += 1
        return model(x).tanh()

    def outer(x):
        runs[0] += 1
        y = recomputed(inner, x * 2)
        return recomputed(inner, y).exp()

    x = torch.randn(8, 16, device=device)
    plain = gradients(torch, model, x, lambda x: model(model(x * 2).tanh()).tanh().exp())
    again = gradients(torch, model, x, lambda x: recomputed(outer, x))
    assert all(torch.equal(a, b) for a, b in zip(plain, again))
    assert runs == [2, 6]


def test_early_stop_ends_the_second_run(torch, recomputed):
    done = []

    def function(x):
        y = x.exp()
        done.append("saved")
        z = y + 1  # saves nothing
        done.append("end")
        return z

    def steps(**options):
        done.clear()
        x = torch.ones(2, requires_grad=True)
        recomputed(function, x, **options).sum().backward()
        assert torch.allclose(x.grad, x.exp())
        return list(done)

    assert steps() == ["saved", "end"]
    assert steps(early_stop=False) == ["saved", "end"] * 2
    with torch.utils.checkpoint.set_checkpoint_early_stop(False):
        assert steps() == ["saved", "end"] * 2


@pytest.mark.parametrize("more", [True, False])
def test_a_function_that_saves_more_or_less(torch, recomputed, more):
    runs = []

    def function(x):
        runs.append(0)
        return x.sin().exp() if (len(runs) == 1) == more else x.sin().exp().cos()

    said = "trying to save more tensors during recomputation" if more else "A different number of"
    y = recomputed(function, torch.ones(2, requires_grad=True), early_stop=False)
    with pytest.raises(RuntimeError, match=f"torch.utils.checkpoint: {said}"):
        y.sum().backward()


def test_keywords_containers_and_several_results(torch, recomputed):
    a, b = (torch.tensor([v], requires_grad=True) for v in (2.0, 3.0))

    def function(pair, scale=1, *, weight=None, names=()):
        return {"y": pair[0] * pair[1] * weight * scale, "n": len(names)}, pair[0].exp()

    found, e = recomputed(function, (a, b), 2, weight=b, names=["x"], preserve_rng_state=False)
    assert found["n"] == 1
    (found["y"] + e).backward()
    assert torch.allclose(a.grad, 18 + a.exp()) and b.grad.tolist() == [24]


def test_grad_of_inputs_only_and_repeated_backward(torch, device, recomputed):
    model = network(torch, device, dropout=0)
    x = torch.randn(4, 16, device=device, requires_grad=True)
    (expected,) = torch.autograd.grad(model(x).sum(), x)
    y = recomputed(model, x).sum()
    for _ in range(2):
        (found,) = torch.autograd.grad(y, x, retain_graph=True)
        assert torch.equal(found, expected)
    y.backward()
    assert torch.equal(x.grad, expected)
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


def test_gradients_of_gradients(torch, recomputed):
    x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)

    def function(x):
        return (x.exp() * x.sin()).sum()

    def second(run):
        (first,) = torch.autograd.grad(run(x), x, create_graph=True)
        return torch.autograd.grad(first.sum(), x)[0]

    again = second(lambda x: recomputed(function, x))
    assert torch.equal(second(function), again)
    assert torch.autograd.gradgradcheck(lambda x: recomputed(function, x), (x,))


def test_gradients_inside_of_the_function(torch, recomputed):
    def function(x):
        y = x.sin()
        z = (y * y.exp()).sum()
        (slope,) = torch.autograd.grad(z, x, create_graph=True)
        return z + (slope * slope).sum()

    results = []
    for options in (None, {}, {"early_stop": False}):
        x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
        y = x * 1
        z = function(y) if options is None else recomputed(function, y, **options)
        z.backward()
        results.append(x.grad)
    assert torch.equal(results[0], results[1]) and torch.equal(results[0], results[2])


@BOTH
def test_autocast_is_that_of_the_first_run(torch, device, checkpoint, use_reentrant):
    layer = torch.nn.Linear(8, 8).to(device)
    x = torch.randn(4, 8, device=device)
    dtypes = []

    def function(x):
        y = layer(x)
        dtypes.append(y.dtype)
        return y * y

    with torch.autocast(device, dtype=torch.bfloat16):
        plain = gradients(torch, layer, x, function)
        y = x.detach().requires_grad_()
        layer.zero_grad()
        z = checkpoint(function, y, use_reentrant=use_reentrant)
        loss = (z * z).sum()
    loss.backward()
    assert dtypes == [torch.bfloat16] * 3
    assert torch.equal(plain[1], y.grad) and torch.equal(plain[2], layer.weight.grad)


def test_contexts_of_both_runs(torch, recomputed):
    entered = []

    class Context:
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            entered.append(self.name)

        def __exit__(self, *exc):
            return None

    x = torch.ones(1, requires_grad=True)
    y = recomputed(lambda x: x.exp().exp(), x, context_fn=lambda: (Context(1), Context(2)))
    y.backward()
    assert entered == [1, 2]


def test_a_second_run_that_differs_is_told(torch, recomputed):
    error = torch.utils.checkpoint.CheckpointError
    turn = [0]

    def shapes(x):
        turn[0] += 1
        return (x if turn[0] % 2 else x[:1]).exp().sum()

    def fewer(x):
        turn[0] += 1
        return x.exp().exp().sum() if turn[0] % 2 else x.exp().sum()

    x = torch.ones(3, requires_grad=True)
    with pytest.raises(
        error, match=r"different metadata[\s\S]*position 0[\s\S]*float32\[3\][\s\S]*float32\[1\]"
    ):
        recomputed(shapes, x).backward()
    assert issubclass(error, RuntimeError) and turn == [2]
    with pytest.raises(error, match=r"during forward: 2\n[\s\S]*during recomputation: 1"):
        recomputed(fewer, x).backward()
    with pytest.raises(ValueError, match="determinism_check should be one of"):
        recomputed(shapes, x, determinism_check="some")


def test_an_argument_overwritten_since_is_told(torch, recomputed):
    x = torch.ones(3, requires_grad=True)
    a = x * 1
    y = recomputed(torch.exp, a).sum()
    a.mul_(2)
    with pytest.raises(RuntimeError, match='"mul_" wrote to it'):
        y.backward()


def test_exceptions_of_both_runs_are_the_caller_s(torch, recomputed):
    problem, armed = KeyError("mine"), [True]

    def function(x):
        y = x.exp()
        if armed[0]:
            raise problem
        return y.exp()

    x = torch.ones(1, requires_grad=True)
    with pytest.raises(KeyError) as caught:
        recomputed(function, x)
    assert caught.value is problem
    armed[0] = False
    y = recomputed(function, x)
    armed[0] = True
    with pytest.raises(KeyError) as caught:
        y.backward()
    assert caught.value is problem


def test_nothing_outlives_the_graph(torch, recomputed):
    class Function:
        def __call__(self, x, other):
            return x.exp() * other.exp()

    function = Function()
    gone = [weakref.ref(function)]
    x = torch.ones(2, requires_grad=True)
    y = recomputed(function, x * 1, x.exp())
    del function
    gc.collect()
    assert gone[0]() is not None
    y.sum().backward()
    del y
    gc.collect()
    assert gone[0]() is None
    # An argument that the function turns into a result of its own is no cycle.
    function = lambda a: a.mul_(2).exp()  # noqa: E731
    gone.append(weakref.ref(function))
    y = recomputed(function, x * 1)
    del function, y
    gc.collect()
    assert gone[1]() is None


def test_both_runs_see_the_same_objects(torch, recomputed):
    x, scale = torch.ones(2, requires_grad=True), torch.ones(2)
    scale.note = "the program's"
    seen = []

    def function(x, *, scale):
        seen.append((x, scale))
        return (x * scale.exp()).exp()

    recomputed(function, x, scale=scale).sum().backward()
    assert len(seen) == 2 and all(a is x and b is scale for a, b in seen)
    y = recomputed(function, x * 1, scale=scale)
    gone = weakref.ref(seen.pop()[0])
    gc.collect()
    assert gone() is None  # nothing keeps an argument's object
    y.sum().backward()
    assert seen.pop()[1] is scale


def test_without_recording_the_function_just_runs(torch, recomputed):
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        assert not recomputed(torch.exp, x).requires_grad
    y = recomputed(torch.exp, x.detach())
    assert not y.requires_grad


def test_other_hooks_see_the_arguments_only(torch, recomputed):
    seen = []
    x = torch.ones(2, requires_grad=True)
    a = x * 2
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: seen.append(t.tolist()) or t.detach(), lambda t: t
    ):
        y = recomputed(lambda a: a.exp().exp(), a)
    assert seen == [[2, 2]]
    y.sum().backward()
    assert torch.allclose(x.grad, 2 * (a.exp() + a).exp())


def test_the_reentrant_form_says_what_it_cannot(torch, checkpoint):
    x = torch.ones(2, requires_grad=True)
    y = checkpoint(torch.exp, x, use_reentrant=True).sum()
    with pytest.raises(RuntimeError, match="incompatible with .grad"):
        torch.autograd.grad(y, x)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: key"):
        checkpoint(torch.exp, x, use_reentrant=True, key=1)
    with pytest.raises(ValueError, match="only supported when use_reentrant=False"):
        checkpoint(torch.exp, x, use_reentrant=True, debug=True)
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        checkpoint(torch.exp, x.detach(), use_reentrant=True)
    with pytest.warns(UserWarning, match="use_reentrant parameter should be passed"):
        checkpoint(torch.exp, x)
    with pytest.raises(NotImplementedError, match="selective"):
        torch.utils.checkpoint.create_selective_checkpoint_contexts([])


def test_as_a_decorator(torch, checkpoint):
    class Model(torch.nn.Module):
        @checkpoint(use_reentrant=False)
        def forward(self, x):
            return x.exp().exp()

    x = torch.ones(1, requires_grad=True)
    Model()(x).backward()
    assert torch.allclose(x.grad, (x + x.exp()).exp())


@BOTH
def test_sequential(torch, device, use_reentrant):
    model = network(torch, device)
    run = torch.utils.checkpoint.checkpoint_sequential
    x = torch.randn(8, 16, device=device)
    plain = gradients(torch, model, x, model)
    for steps, segments in ((model, 2), (list(model), 3), (model, 1), (model, 5)):
        again = gradients(
            torch, model, x, lambda x: run(steps, segments, x, use_reentrant=use_reentrant)
        )
        assert all(torch.equal(a, b) for a, b in zip(plain, again)), segments
    with pytest.raises(ValueError, match="Unexpected keyword arguments: key"):
        run(model, 2, x, use_reentrant=use_reentrant, key=1)


def test_buffers_and_batch_norm(torch, device, recomputed):
    """Running statistics move twice, as in torch; the gradient is that of the batch."""
    norm = torch.nn.BatchNorm1d(4).to(device)
    x = torch.randn(8, 4, device=device)
    plain = gradients(torch, norm, x, lambda x: norm(x).exp())
    again = gradients(torch, norm, x, lambda x: recomputed(lambda x: norm(x).exp(), x))
    assert all(torch.equal(a, b) for a, b in zip(plain, again))
    assert norm.num_batches_tracked.item() == 3
