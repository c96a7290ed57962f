"""Hooks in passes that end at some tensors only, or come by a tensor without a gradient of it:
which run, what they see, and what is accumulated."""

import pytest

from tests.harness.functions import function


@pytest.fixture
def hooked(torch):
    """A leaf, its exponential with a hook of every kind, and what they log."""
    a, log = torch.ones(2).requires_grad_(), []
    b = a.exp()

    def tensor_hook(grad):
        log.append("tensor")
        return grad * 3

    def before(given):
        log.append("before")
        return (given[0] * 2,)

    b.register_hook(tensor_hook)
    b.grad_fn.register_prehook(before)
    b.grad_fn.register_hook(lambda made, given: log.append(("after", made[0] is None)))
    return a, b, log


def test_the_node_that_made_an_input_runs_with_its_hooks(hooked):
    a, b, log = hooked
    b.sum().backward(inputs=[b])
    assert log == ["tensor", "before", ("after", True)]
    assert b.grad.tolist() == [3, 3] and a.grad is None
    assert b.retains_grad


def test_what_ran_up_to_an_input_frees_what_it_saved(hooked):
    _, b, _ = hooked
    b.sum().backward(inputs=[b])
    with pytest.raises(RuntimeError, match="second time"):
        b.sum().backward()


def test_grad_runs_the_hooks_of_its_inputs_but_not_their_nodes(torch, hooked):
    a, b, log = hooked
    (found,) = torch.autograd.grad(b.sum(), b)
    assert log == ["tensor"] and found.tolist() == [3, 3] and b.grad is None
    b.sum().backward()  # its values are still there
    assert a.grad is not None


def test_inputs_on_one_path_named_twice(torch):
    a = torch.ones(2).requires_grad_()
    b = a * 2
    (b * b).sum().backward(inputs=[b, a, b])
    assert b.grad.tolist() == [4, 4] and a.grad.tolist() == [8, 8]


def test_leaves_that_are_no_inputs_are_left_alone(torch):
    x, z = torch.ones(2).requires_grad_(), torch.ones(2).requires_grad_()
    log = []
    for name, t in (("x", x), ("z", z)):
        t.register_hook(lambda _, name=name: log.append(name))
        t.register_post_accumulate_grad_hook(lambda t, name=name: log.append(name + "'"))
    (x * z).sum().backward(inputs=x)
    assert log == ["x", "x'"] and z.grad is None and x.grad.tolist() == [1, 1]


def test_a_tensor_without_gradient_is_an_input_of_no_pass(torch):
    x = torch.ones(2).requires_grad_()
    with pytest.raises(RuntimeError, match="requires_grad=False"):
        x.sum().backward(inputs=[torch.ones(2)])
    unused = x * 3
    x.sum().backward(inputs=[unused])
    assert unused.grad is None and x.grad is None


def test_a_pass_to_inputs_is_not_whole(torch):
    """Checkpoints of the older kind refuse one."""
    x = torch.ones(2).requires_grad_()
    y = torch.utils.checkpoint.checkpoint(torch.sin, x, use_reentrant=True)
    with pytest.raises(RuntimeError, match="[Cc]heckpoint"):
        y.sum().backward(inputs=[x])


def test_hooks_hear_of_results_that_have_no_gradient(torch):
    x, seen = torch.ones(3).requires_grad_(), []
    parts = x.unbind()
    parts[0].register_hook(seen.append)
    parts[0].backward()
    parts[1].backward()
    assert seen[0].item() == 1 and seen[1:] == [None]
    assert x.grad.tolist() == [1, 1, 0]


def test_hooks_hear_of_gradients_that_end_on_the_way(torch):
    half = function(lambda ctx, x, y: (x * 1, y * 1), lambda ctx, dx, dy: (dx, None))
    x, y, seen = torch.ones(2).requires_grad_(), torch.ones(2).requires_grad_(), []
    z = y * 2
    z.register_hook(lambda grad: seen.append(("z", grad)))
    y.register_hook(lambda grad: seen.append(("y", grad)))
    half(x, z)[0].sum().backward()
    assert seen == [("z", None), ("y", None)] and y.grad is None


def test_no_gradient_is_not_replaced(torch):
    parts = torch.ones(2).requires_grad_().unbind()
    parts[0].register_hook(lambda grad: torch.ones(()))
    with pytest.raises(RuntimeError, match="can't replace a None gradient with a non-None value"):
        parts[1].backward()


def test_hooks_of_several_results_of_one_operation(torch):
    x, seen = torch.ones(3).requires_grad_(), []
    parts = (x * 2).unbind()
    torch.autograd.graph.register_multi_grad_hook(parts, seen.append)
    parts[1].backward()
    assert [[g is None for g in grads] for grads in seen] == [[True, False, True]]


def test_what_is_no_tensor_has_a_place_among_a_nodes_gradients(torch):
    def backward(ctx, first, number, last):
        assert number is None
        return 3 * first + last, None

    seen = []
    x = torch.ones(2).requires_grad_()
    a, k, b = function(lambda ctx, x, k: (x * k, k, x + k), backward)(x, 3)
    assert k == 3 and (a.output_nr, b.output_nr) == (0, 2)
    a.grad_fn.register_prehook(lambda given: seen.append([g is None for g in given]))
    (a + b).sum().backward()
    assert seen == [[False, True, False]] and x.grad.tolist() == [4, 4]


@pytest.mark.parametrize("materialize", [True, False])
def test_results_without_gradient_are_zeros_or_none(torch, materialize):
    def forward(ctx, x):
        constant = x.clone()
        ctx.mark_non_differentiable(constant)
        ctx._materialize_non_diff_grads = materialize
        return x.clone(), constant, x.clone()

    def backward(ctx, first, constant, last):
        assert (constant is None) != materialize and last.tolist() == [0, 0]
        return first

    x = torch.ones(2).requires_grad_()
    function(forward, backward)(x)[0].sum().backward()
    assert x.grad.tolist() == [1, 1]


def test_a_retained_gradient_is_the_tensors_own(torch):
    for retain in (lambda y: y.retain_grad(), lambda y: None):
        for start in (torch.ones(2), torch.ones(2, requires_grad=True), torch.ones(1).expand(2)):
            y = torch.ones(2).requires_grad_() * 2
            retain(y)
            y.backward(start, inputs=[y])
            assert not y.grad.requires_grad and y.grad.data_ptr() != start.data_ptr()
            y.grad[0] = 5  # refused where elements lie on one another
            assert y.grad.tolist() == [5, 1] and start.tolist() == [1, 1]
        y = torch.ones(2).requires_grad_() * 2
        retain(y)
        y.sum().backward(inputs=[y])
        y.grad[0] = 5
        assert y.grad.tolist() == [5, 1]


def test_what_nobody_asks_for_is_not_computed(torch):
    """The node that made an input would fail: here by what it computes, or for it has no
    formula."""
    y = torch.zeros(1).requires_grad_().sqrt()
    with torch.autograd.detect_anomaly():
        (y * 0).sum().backward(inputs=[y])
    u = torch.unique(torch.ones(2).requires_grad_() * 1)
    (u * 2).sum().backward(inputs=[u])
    assert y.grad.tolist() == [0] and u.grad.tolist() == [2]
    a, w = torch.ones(2, 2).requires_grad_(), torch.ones(2, 2).requires_grad_()
    seen = []
    h = a @ w
    h.grad_fn.register_hook(lambda made, given: seen.append([g is None for g in made]))
    h.sum().backward(inputs=[a])
    assert seen == [[False, True]] and w.grad is None
