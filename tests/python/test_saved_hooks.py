"""Functions around saved tensors: what they see, what they may return, and that nothing they keep
outlives its graph."""

import gc
import threading
import weakref

import pytest

from tests.harness import child
from tests.harness.functions import function


@pytest.fixture
def hooks(torch):
    return torch.autograd.graph.saved_tensors_hooks


def counting(hooks):
    calls = {"pack": 0, "unpack": 0}

    def pack(t):
        calls["pack"] += 1
        return t.detach().clone()

    def unpack(t):
        calls["unpack"] += 1
        return t

    return calls, hooks(pack, unpack)


def test_saved_values_go_through_the_hooks(torch, device, hooks):
    x = torch.tensor([1.0, 2.0], device=device, requires_grad=True)
    with hooks(lambda t: t * 10, lambda t: t / 5):
        y = x * x
    y.sum().backward()
    assert x.grad.tolist() == [4, 8]  # each factor came back doubled


def test_pack_is_called_when_saved_and_unpack_once_per_backward(torch, device, hooks):
    x = torch.tensor([0.5, 1.0], device=device, requires_grad=True)
    calls, scope = counting(hooks)
    with scope:
        y = (x.exp() * x.detach()).sum()
    assert calls["pack"] == 2 and calls["unpack"] == 0  # exp's result, and x for the product
    y.backward(retain_graph=True)
    y.backward()
    assert calls["pack"] == 2 and calls["unpack"] == 4
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()
    with torch.no_grad(), scope:
        x * x
    assert calls["pack"] == 2


def test_layers_hand_over_all_they_keep(torch, device):
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.GELU(), nn.MaxPool2d(2), nn.Flatten()
    ).to(device)
    layers = nn.Sequential(nn.Linear(64, 16), nn.LayerNorm(16), nn.Softmax(-1)).to(device)
    x = torch.randn(3, 2, 8, 8, device=device)

    def gradients():
        for p in (*model.parameters(), *layers.parameters()):
            p.grad = None
        return layers(model(x))[:, 0].sum()

    gradients().backward()
    plain = [p.grad.clone() for p in (*model.parameters(), *layers.parameters())]
    with torch.autograd.graph.save_on_cpu():
        loss = gradients()
    loss.backward()
    for p, g in zip((*model.parameters(), *layers.parameters()), plain):
        assert torch.equal(p.grad, g)


def test_the_innermost_hooks_are_called(torch, hooks):
    x = torch.ones(1, requires_grad=True)
    outer, outer_scope = counting(hooks)
    inner, inner_scope = counting(hooks)
    with outer_scope:
        y = x.exp()
        with inner_scope:
            y = y.exp()
        y = y.exp()
    y.backward()
    assert outer == {"pack": 2, "unpack": 2} and inner == {"pack": 1, "unpack": 1}


def test_gradients_of_gradients(torch, device, hooks):
    x = torch.tensor([2.0, 3.0], device=device, requires_grad=True)
    with hooks(lambda t: t.detach().clone(), lambda t: t):
        y = (x**3).sum() + x.exp().sum()
        (first,) = torch.autograd.grad(y, x, create_graph=True)
        (second,) = torch.autograd.grad(first.sum(), x, create_graph=True)
    assert torch.allclose(first, 3 * x**2 + x.exp()) and torch.allclose(second, 6 * x + x.exp())


def test_a_function_saves_through_the_hooks(torch, hooks):
    def forward(ctx, x):
        y = x**3
        ctx.save_for_backward(x, y)
        return y

    def backward(ctx, g):
        x, y = ctx.saved_tensors
        assert ctx.saved_tensors[0].tolist() == x.tolist()
        return g * 3 * x * x

    x = torch.tensor([2.0], requires_grad=True)
    calls, scope = counting(hooks)
    with scope:
        y = function(forward, backward)(x)
    y.backward()
    assert x.grad.tolist() == [12] and calls == {"pack": 2, "unpack": 2}


def test_exceptions_of_hooks_reach_the_caller_as_themselves(torch, hooks):
    problem = KeyError("mine")

    def fail(t):
        raise problem

    x = torch.ones(2, requires_grad=True)
    with hooks(fail, lambda t: t), pytest.raises(KeyError) as caught:
        x.exp()
    assert caught.value is problem
    with hooks(lambda t: t.detach(), fail):
        y = x.exp().sum()
    with pytest.raises(KeyError) as caught:
        y.backward()
    assert caught.value is problem
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2, 2]


@pytest.mark.parametrize(
    "unpack, kind, text",
    [
        (lambda t: 3, TypeError, "unpack_hook expected to be a Tensor but got .*int"),
        (lambda t: t[:1], RuntimeError, r"returned f32\[1\].* for f32\[2\]"),
        (lambda t: t.double(), RuntimeError, r"returned f64\[2\].* for f32\[2\]"),
    ],
)
def test_what_unpack_may_return(torch, hooks, unpack, kind, text):
    x = torch.ones(2, requires_grad=True)
    with hooks(lambda t: t.detach(), unpack):
        y = x.exp().sum()
    with pytest.raises(kind, match=text):
        y.backward()


def test_pack_must_not_write(torch, hooks):
    x = torch.ones(2, requires_grad=True)
    with hooks(lambda t: t.detach().mul_(2), lambda t: t):
        with pytest.raises(RuntimeError, match="pack hook is modifying its input in place"):
            x.exp()


def test_hooks_do_not_disturb_the_operation_that_waits(torch, hooks):
    """An in-place operation is under way when its operand is packed by one of the same name."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with hooks(lambda t: t.detach().clone().mul_(1), lambda t: t):
        y = x * 1
        y.mul_(x)
    y.sum().backward()
    assert y.tolist() == [1, 4] and x.grad.tolist() == [2, 4]


def test_hooks_run_without_recording(torch, hooks):
    seen = []
    x = torch.ones(2, requires_grad=True)
    with hooks(lambda t: seen.append(torch.is_grad_enabled()) or t.detach(), lambda t: t):
        x.exp()
    assert seen == [False] and torch.is_grad_enabled()


def test_nothing_outlives_the_graph(torch, hooks):
    class Kept:
        def __init__(self, t):
            self.t = t.detach()

    made = []

    def pack(t):
        kept = Kept(t)
        made.append(weakref.ref(kept))
        return kept

    x = torch.ones(2, requires_grad=True)
    scope = hooks(pack, lambda kept: kept.t)
    with scope:
        y = x.exp() * x.detach()
    function = weakref.ref(pack)
    del scope, pack
    assert len(made) == 2 and all(r() is not None for r in made)
    y.sum().backward()
    gc.collect()
    assert all(r() is None for r in made) and function() is None
    # A graph that nobody walks lets go as well, and so does one whose pack hands back the result.
    with hooks(lambda t: made.append(weakref.ref(t)) or t, lambda t: t):
        z = x.exp()
    del z
    gc.collect()
    assert all(r() is None for r in made)


def test_hooks_belong_to_their_thread_and_values_do_not(torch, hooks):
    x = torch.ones(2, requires_grad=True)
    calls, scope = counting(hooks)
    elsewhere = []
    with scope:
        y = x.exp().sum()
        other = threading.Thread(target=lambda: elsewhere.append((x * 2).exp().sum()))
        other.start()
        other.join()
    assert calls["pack"] == 1
    walker = threading.Thread(target=y.backward)
    walker.start()
    walker.join()
    assert calls["unpack"] == 1 and torch.allclose(x.grad, x.exp())


def test_hooks_can_be_forbidden(torch, hooks):
    graph = torch.autograd.graph
    x = torch.ones(2, requires_grad=True)
    with graph.disable_saved_tensors_hooks("not here"):
        with pytest.raises(RuntimeError, match="not here"):
            with hooks(lambda t: t, lambda t: t):
                pass
        x.exp()
    with hooks(lambda t: t.detach(), lambda t: t):
        with pytest.raises(RuntimeError, match="not now"):
            with graph.disable_saved_tensors_hooks("not now"):
                pass
        x.exp().sum().backward()

    @graph.disable_saved_tensors_hooks("never")
    def inner():
        with hooks(lambda t: t, lambda t: t):
            pass

    with pytest.raises(RuntimeError, match="never"):
        inner()
    with hooks(lambda t: t.detach(), lambda t: t):
        x.exp()


def test_save_on_cpu_moves_and_pins(torch, device):
    x = torch.randn(64, device=device, requires_grad=True)
    for pin_memory in (False, True):
        x.grad = None
        with torch.autograd.graph.save_on_cpu(pin_memory=pin_memory):
            y = (x.exp() * x).sum()
        y.backward()
        assert torch.allclose(x.grad, x.exp() * (x + 1))


def test_values_that_were_packed_may_be_overwritten(torch, hooks):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([3.0, 4.0])
    with hooks(lambda t: t.detach().clone(), lambda t: t):
        y = (x * w).sum()
    w.zero_()
    y.backward()
    assert x.grad.tolist() == [3, 4]


def test_saved_values_may_be_written_where_that_is_allowed(torch, device):
    allow = torch.autograd.graph.allow_mutation_on_saved_tensors
    x = torch.tensor([0.3, 0.7], device=device, requires_grad=True)
    with allow():
        y = x.exp()
        z = (y * y).sum()
        y.mul_(0)
        z.backward()
        assert torch.allclose(x.grad, 2 * (2 * x).exp())
        once = x.exp()
        (slope,) = torch.autograd.grad((once * once).sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(slope.sum(), x)
        assert torch.allclose(second, 4 * (2 * x).exp())
        entered = []

        def elsewhere():
            with allow():
                entered.append(True)

        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        assert entered
        with pytest.raises(RuntimeError, match="cannot be nested"), allow():
            pass
        left = x.exp().sum()
    with pytest.raises(AssertionError, match="backward outside"):
        left.backward()
    with allow() as copies:
        freed = x.exp().sum()
        copies.clear()
        with pytest.raises(AssertionError):
            freed.backward()


# What the library drops when Python has ended does not reach Python any more.
LEFT_OPEN = """
import contextlib
import flambeau as torch
left = contextlib.ExitStack()
left.enter_context(torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t))
loss = (torch.ones(2, requires_grad=True) ** 2).sum()
"""


def test_a_program_may_end_inside_of_a_block():
    done = child.python("-c", LEFT_OPEN)
    assert (done.returncode, done.stderr) == (0, "")


def test_threads_share_a_mode(torch):
    mode, seen = torch.no_grad(), []
    turns = [threading.Event() for _ in range(4)]

    def work(number):
        turns[number].wait(10)
        with mode:
            turns[number + 1].set()
            turns[number + 2].wait(10)
        seen.append(torch.is_grad_enabled())
        turns[min(number + 3, 3)].set()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    turns[0].set()
    for thread in threads:
        thread.join()
    assert seen == [True, True] and torch.is_grad_enabled()


def test_copies_live_as_long_as_what_saved_them(torch, device):
    with torch.autograd.graph.allow_mutation_on_saved_tensors() as kept:
        x = torch.tensor([0.3, 0.7], device=device, requires_grad=True).clone()
        first, second = x**2, x**2
        assert len(kept.tid_to_weakhandle) == 1 and not kept.cloned  # one for both
        before = x.detach().clone()
        x.mul_(2)
        (copy,) = kept.cloned.values()
        assert torch.equal(copy, before)
        third = x**2
        x.detach().zero_()
        assert len(kept.cloned) == 2
        del first, second
        assert len(kept.cloned) == 1
        third.sum().backward()
        assert not kept.cloned and not kept.tid_to_weakhandle
