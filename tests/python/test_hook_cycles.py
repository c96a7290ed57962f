"""Hooks of leaves and what they refer to. A model whose hook knows the model is freed as if it had
none; a hook that a graph still needs lives on; a removed one lets go at once."""

import gc
import weakref

import pytest


class Known:
    """Something for hooks to hold."""


def by_tensor(torch, w, function):
    return w.register_hook(function)


def after_accumulation(torch, w, function):
    return w.register_post_accumulate_grad_hook(function)


def of_several(torch, w, function):
    return torch.autograd.graph.register_multi_grad_hook((w,), function)


REGISTER = pytest.mark.parametrize("register", [by_tensor, after_accumulation, of_several])


def model(torch, register):
    class Counts(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.seen = torch.nn.Linear(2, 2), 0
            self.own = torch.nn.Parameter(torch.ones(2))
            register(torch, self.layer.weight, lambda _: self.note())
            register(torch, self.own, lambda _: self.note())

        def note(self):
            self.seen += 1

        def forward(self, x):
            return self.layer(x) * self.own

    return Counts()


@REGISTER
@pytest.mark.parametrize("steps", [0, 1])
def test_a_model_that_its_hooks_know_is_freed(torch, register, steps):
    m = model(torch, register)
    for _ in range(steps):
        m(torch.ones(2)).sum().backward()
    assert m.seen == 2 * steps
    gone = weakref.ref(m), weakref.ref(m.layer.weight), weakref.ref(m.layer)
    del m
    gc.collect()
    assert [r() for r in gone] == [None] * 3


@REGISTER
def test_a_graph_keeps_them_until_it_is_walked(torch, register):
    m = model(torch, register)
    gone, y = weakref.ref(m), m(torch.ones(2)).sum()
    del m
    gc.collect()
    gc.collect()
    assert gone().seen == 0
    y.backward()
    assert gone().seen == 2
    del y
    gc.collect()
    assert gone() is None


@REGISTER
def test_a_hook_outlives_the_object_it_was_registered_on(torch, register):
    seen = []
    w = torch.ones(2, requires_grad=True)
    register(torch, w, lambda _: seen.append(1))
    y = (w * w).sum()
    del w
    gc.collect()
    y.backward()
    assert seen == [1]


@REGISTER
def test_a_removed_hook_lets_go_at_once(torch, register):
    held, w = Known(), torch.ones(2, requires_grad=True)
    gone = weakref.ref(held)
    handles = [register(torch, w, lambda _, held=held: None) for _ in range(3)]
    del held
    for handle in handles:
        assert gone() is not None
        handle.remove()
    assert gone() is None
    (w * 2).sum().backward()


def test_a_hook_may_remove_itself_and_others_while_it_runs(torch):
    seen, w = [], torch.ones(2, requires_grad=True)

    def once(grad):
        seen.append("once")
        handle.remove()
        return grad * 3

    handle = w.register_hook(once)
    w.register_hook(lambda _: seen.append("always"))
    for _ in range(2):
        (w * 2).sum().backward()
    assert seen == ["once", "always", "always"] and w.grad.tolist() == [8, 8]


def test_hooks_set_and_removed_in_every_step_leave_nothing(torch):
    w = torch.ones(2, requires_grad=True)
    for _ in range(100):
        w.register_hook(lambda grad: None).remove()
    assert len(gc.get_referents(w)) < 4
    assert sum(map(len, (x for x in gc.get_referents(w) if isinstance(x, list)))) <= 1
