"""Graphs of a million nodes and backward passes inside of backward passes, ten thousand deep: they
are built, walked and freed without a stack that grows with them."""

import gc
import sys

import pytest

from tests.harness.functions import function

NODES = 1_000_000


def chain(torch, step, n):
    x = torch.ones(1).requires_grad_()
    y = x
    for _ in range(n):
        y = step(y, x)
    return x, y


STEPS = {
    "saves nothing": lambda y, x: y + 0,
    "saves an operand": lambda y, x: y * 1,
    "views": lambda y, x: y.view(1),
    "two edges": lambda y, x: y + x,
}


@pytest.mark.parametrize("step", STEPS)
def test_a_long_chain_is_walked_and_freed(torch, step):
    x, y = chain(torch, STEPS[step], NODES // len(STEPS))
    y.backward()
    assert x.grad.item() == (NODES // len(STEPS) + 1 if step == "two edges" else 1)
    del y
    gc.collect()


def test_a_long_chain_is_freed_unwalked(torch):
    _, y = chain(torch, STEPS["saves an operand"], NODES)
    del y


def test_a_long_chain_of_custom_functions_shares_one_class_of_nodes(torch):
    def forward(ctx, y):
        ctx.save_for_backward(y)
        return y.clone()

    def backward(ctx, grad):
        assert len(ctx.saved_tensors) == 1
        return grad

    same = function(forward, backward)
    x, y = chain(torch, lambda y, _: same(y), 30_000)
    y.backward()
    assert x.grad.item() == 1
    assert type(same(x).grad_fn) is type(y.grad_fn)  # a class a call made it quadratic
    del y


def nested(torch, at_the_bottom):
    """A function whose backward runs a graph of its own, as often as its operand says."""

    def forward(ctx, x):
        with torch.enable_grad():
            ctx.inner = x.detach().requires_grad_() - 1
        return ctx.inner.detach()

    def backward(ctx, grad):
        assert not torch.is_grad_enabled()
        if ctx.inner.item() > 0:
            with torch.enable_grad():
                deep(ctx.inner).sum().backward()
        else:
            at_the_bottom()
        return grad

    deep = function(forward, backward)
    return deep


@pytest.mark.parametrize("depth", [1, 100, 10_000])
def test_backward_inside_of_backward(torch, depth):
    x = torch.tensor(float(depth)).requires_grad_()
    limit = sys.getrecursionlimit()
    nested(torch, lambda: None)(x).backward()
    assert x.grad.item() == 1
    assert sys.getrecursionlimit() == limit


def test_what_fails_deep_inside_comes_out_as_itself(torch):
    class Problem(Exception):
        pass

    def fail():
        raise Problem("at the bottom")

    with pytest.raises(Problem, match="at the bottom"):
        nested(torch, fail)(torch.tensor(500.0).requires_grad_()).backward()


def test_modes_and_generators_reach_the_bottom(torch):
    seen = []

    def look():
        seen.append((torch.is_autocast_enabled("cpu"), torch.is_grad_enabled()))

    for enabled in (True, False):
        x = torch.tensor(200.0).requires_grad_()
        with torch.autocast("cpu", enabled=enabled):
            nested(torch, look)(x).backward()
    assert seen == [(True, False), (False, False)]
