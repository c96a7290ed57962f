"""Recorded operations as objects: which they are, what hooks on them see and change, what a custom
function's shows, and that the program's own tensors come back from them."""

import gc
import weakref

import pytest

from tests.harness.functions import function


@pytest.fixture
def product(torch):
    x, z = torch.ones(2).requires_grad_(), torch.full((2,), 3.0)
    return x, z, x * z


def test_a_node_is_one_object_while_it_lives(torch, product):
    x, _, y = product
    assert y.grad_fn is y.grad_fn and y.view(2).grad_fn.next_functions[0][0] is y.grad_fn
    leaf, number = y.grad_fn.next_functions[0]
    assert leaf.variable is x and number == 0
    assert y.grad_fn.next_functions[1] == (None, 0)
    assert y.grad_fn.name() == type(y.grad_fn).__name__ == "MulBackward0"
    assert leaf.name() == "torch::autograd::AccumulateGrad"
    with pytest.raises(AttributeError, match="variable"):
        _ = y.grad_fn.variable


def test_metadata_lives_as_long_as_the_operation(product):
    *_, y = product

    class Value:
        pass

    value = Value()
    y.grad_fn.metadata["key"] = value
    y.grad_fn.metadata["other"] = 1
    assert y.grad_fn.metadata == {"key": value, "other": 1}
    gone = weakref.ref(value)
    del value
    gc.collect()
    assert gone() is not None


def test_hooks_after_and_before_an_operation(torch, product):
    x, _, y = product
    seen = []
    before = y.grad_fn.register_prehook(lambda given: seen.append(("before", given)))
    after = y.grad_fn.register_hook(lambda made, given: seen.append(("after", made, given)))
    y.sum().backward(retain_graph=True)
    (_, given), (_, made, same) = seen
    assert given[0].tolist() == same[0].tolist() == [1, 1]
    assert made[0].tolist() == [3, 3] and made[1] is None
    before.remove()
    after.remove()
    y.sum().backward(retain_graph=True)
    assert len(seen) == 2 and x.grad.tolist() == [6, 6]
    y.grad_fn.register_prehook(lambda given: (given[0] * 2,))
    y.grad_fn.register_hook(lambda made, given: (made[0] + 1, None))
    x.grad = None
    y.sum().backward()
    assert x.grad.tolist() == [7, 7]


def test_hooks_of_a_leaf_stand_around_its_accumulation(product):
    x, _, y = product
    seen = []
    leaf = y.grad_fn.next_functions[0][0]
    leaf.register_prehook(lambda given: seen.append((x.grad, given)))
    leaf.register_hook(lambda made, given: seen.append((x.grad.tolist(), made, given)))
    y.sum().backward()
    assert seen[0][0] is None and seen[0][1][0].tolist() == [3, 3]
    assert seen[1][:2] == ([3, 3], ()) and seen[1][2][0].tolist() == [3, 3]


@pytest.mark.parametrize(
    "hook,error,text",
    [
        (lambda made, given: 3, TypeError, "hook returned int"),
        (lambda made, given: made[:1], RuntimeError, "incorrect number of values"),
        (lambda made, given: (None, None), RuntimeError, "None gradient"),
        (lambda made, given: 1 // 0, ZeroDivisionError, "division"),
    ],
)
def test_hooks_that_fail(product, hook, error, text):
    *_, y = product
    y.grad_fn.register_hook(hook)
    with pytest.raises(error, match=text):
        y.sum().backward()


def test_a_custom_functions_node_shows_its_ctx(torch):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.factor = 2
        return x * 2

    x = torch.ones(2).requires_grad_()
    y = function(forward, lambda ctx, grad: grad * ctx.factor, "Twice")(x)
    node = y.grad_fn
    assert node.factor == 2 and node.saved_tensors[0] is x and node.needs_input_grad == (True,)
    assert type(node).__name__ == "TwiceBackward"
    with pytest.raises(AttributeError, match="'TwiceBackward' object has no attribute 'nothing'"):
        _ = node.nothing
    y.sum().backward()
    with pytest.raises(RuntimeError, match="after they have already been freed"):
        _ = node.saved_tensors


def test_results_that_are_no_tensors_keep_their_places(torch):
    def backward(ctx, *grads):
        assert [g is None for g in grads] == [False, True, True, False]
        return grads[0] * 2 + grads[3] * 3

    x = torch.ones(2).requires_grad_()
    a, five, none, b = function(lambda ctx, x: (x * 2, 5, None, x * 3), backward)(x)
    assert five == 5 and none is None
    (a + b).sum().backward()
    assert x.grad.tolist() == [5, 5]


def test_once_differentiable_refuses_the_second_derivative(torch):
    from flambeau.autograd.function import once_differentiable

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @once_differentiable
    def backward(ctx, grad):
        return 2 * ctx.saved_tensors[0] * grad

    x = torch.ones(2).requires_grad_()
    (slope,) = torch.autograd.grad(
        (function(forward, backward)(x) ** 2).sum(), x, create_graph=True
    )
    assert slope.tolist() == [4, 4] and slope.requires_grad
    with pytest.raises(RuntimeError, match="marked with @once_differentiable"):
        slope.sum().backward()


# ---- gradients of leaves


def test_a_gradient_keeps_its_object(torch):
    class Own(torch.Tensor):
        pass

    x = torch.ones(3).requires_grad_()
    x.sum().backward()
    grad = x.grad
    grad.note = "mine"
    x.sum().backward()
    assert x.grad is grad and x.grad.note == "mine" and grad.tolist() == [2, 2, 2]
    x.grad = own = torch.zeros(3).as_subclass(Own)
    x.sum().backward()
    assert x.grad is own and own.tolist() == [1, 1, 1]
    x.grad = None
    assert x.grad is None
    x.sum().backward(create_graph=True)
    first = x.grad
    (x * x).sum().backward(create_graph=True)
    assert first.tolist() == [1, 1, 1] and x.grad.tolist() == [3, 3, 3]


LAYOUTS = {
    "contiguous": lambda t: t,
    "channels last": lambda t: t.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2),
    "transposed": lambda t: t.transpose(0, 3).contiguous().transpose(0, 3),
    "with gaps": lambda t: t.repeat(1, 1, 1, 2)[..., ::2],
}


@pytest.mark.parametrize("of_gradient", LAYOUTS)
@pytest.mark.parametrize("of_leaf", LAYOUTS)
@pytest.mark.parametrize("create", [False, True])
def test_a_gradient_lies_as_its_leaf(torch, of_leaf, of_gradient, create):
    data = torch.arange(2 * 3 * 4 * 5.0).reshape(2, 3, 4, 5)
    leaf = LAYOUTS[of_leaf](data).detach().requires_grad_()
    factor = LAYOUTS[of_gradient](data + 1)
    (leaf * factor).sum().backward(create_graph=create)
    dense = torch.empty_strided(leaf.shape, leaf.stride()).is_contiguous() or of_leaf != "with gaps"
    assert leaf.grad.stride() == (leaf.stride() if dense else data.stride())
    assert torch.equal(leaf.grad, factor)


def test_retained_gradients_add_up(torch):
    x = torch.ones(3).requires_grad_()
    h = x * 2
    h.retain_grad()
    for n in (1, 2, 3):
        h.sum().backward(retain_graph=True)
        assert h.grad.tolist() == [n] * 3


def test_what_made_an_input_asked_for_runs_later(torch):
    x = torch.ones(3).requires_grad_()
    h = x * x
    (slope,) = torch.autograd.grad((h * h).sum(), h)
    assert slope.tolist() == [2, 2, 2]
    h.sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


def test_missing_gradients_become_zeros(torch):
    x, z = torch.ones(2).requires_grad_(), torch.ones(2).requires_grad_()
    found = torch.autograd.grad((x * 2).sum(), (x, z), materialize_grads=True)
    assert [g.tolist() for g in found] == [[2, 2], [0, 0]]
    with pytest.raises(ValueError, match="Expected allow_unused to be True or not passed"):
        torch.autograd.grad((x * 2).sum(), (x, z), allow_unused=False, materialize_grads=True)


@pytest.mark.parametrize("name", ["max", "min"])
def test_nans_share_the_gradient(torch, name):
    x = torch.full((3,), float("nan")).requires_grad_()
    getattr(x, name)().backward()
    assert torch.allclose(x.grad, torch.full((3,), 1 / 3))
    y = torch.tensor([1.0, float("nan"), 2.0]).requires_grad_()
    getattr(y, name)().backward()
    assert y.grad.tolist() == [0, 1, 0]


# ---- modes


def test_a_generator_is_closed_in_its_mode(torch):
    seen = []

    @torch.no_grad()
    def numbers():
        try:
            yield 1
        finally:
            seen.append(torch.is_grad_enabled())

    running = numbers()
    next(running)
    running.close()
    assert seen == [False] and torch.is_grad_enabled()


def test_values_of_inference_are_not_saved(torch):
    with torch.inference_mode():
        c = torch.ones(3)
    x = torch.ones(3).requires_grad_()
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        x * c
    (x + c).sum().backward()
    assert x.grad.tolist() == [1, 1, 1]


def test_a_saved_tensor_that_was_detached_since(torch):
    x = torch.ones(3).requires_grad_()
    y = x * 2
    z = (y * y).sum()
    y.detach_()
    with pytest.raises(RuntimeError, match="has been detached in-place"):
        z.backward()


def test_data_of_a_result_is_replaced(torch):
    y = torch.ones(3).requires_grad_() * 2
    y.data = torch.zeros(4)
    assert y.requires_grad and y.shape == (4,) and y.grad_fn is not None


def test_numpy_of_a_parameter_without_recording(torch):
    p = torch.nn.Parameter(torch.ones(2))
    with torch.no_grad():
        assert p.numpy().tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="Can't call numpy"):
        p.numpy()


def test_views_name_the_programs_own_base(torch):
    x = torch.ones(4)
    with torch.no_grad():
        v = x.view(2, 2)
    w = v.t()[0]
    assert v._base is x and w._base is x and x._base is None
    w.add_(1)
    assert w._base is x and x.unbind()[0]._base is x and x.detach()._base is None


def test_checkpoint_of_a_function_that_returns_its_operand(torch):
    from flambeau.utils.checkpoint import checkpoint

    a = torch.ones(2).requires_grad_()
    checkpoint(lambda x: x, a, use_reentrant=True).sum().backward()
    assert a.grad.tolist() == [1, 1]


def test_gradcheck_of_a_function_that_knows_its_operand(torch):
    x = torch.rand(3, dtype=torch.double, requires_grad=True)
    for fast in (False, True):
        assert torch.autograd.gradcheck(lambda _: (x * x).sum(), (x,), fast_mode=fast)


def test_what_a_function_hands_through_keeps_its_class_but_not_a_parameters(torch):
    class Own(torch.Tensor):
        pass

    plain = torch.ones(2, requires_grad=True)
    for given, kind in (
        (plain, torch.Tensor),
        (plain.as_subclass(Own), Own),
        (torch.nn.Parameter(torch.ones(2)), torch.Tensor),
    ):
        found = function(lambda ctx, x: x)(given)
        assert type(found) is kind and found is not given and found.requires_grad


def test_a_view_of_what_inference_made_is_not_recorded(torch):
    with torch.inference_mode():
        c = torch.ones(1, 2, 3, requires_grad=True)
    for view in (c.view(-1), c[0], c.transpose(0, 1), c.expand(4, 2, 3)):
        assert torch.is_inference(view) and view.is_leaf
        assert not view.requires_grad and not view._is_view()


def test_a_reshaped_copy_is_no_view(torch):
    x = torch.ones(2, 3, 2, 3).transpose(2, 3).requires_grad_()
    for copy in (x.flatten(1, 3), x.reshape(6, 6)):
        assert not copy._is_view() and copy._base is None
        copy.mul_(2).sum().backward()
        assert x.grad.unique().tolist() == [2]
        x.grad = None


def test_hooks_of_a_leaf_s_node_see_its_gradient(torch):
    leaf = torch.rand(3, requires_grad=True)
    node = leaf.view_as(leaf).grad_fn.next_functions[0][0]
    leaf.register_hook(lambda grad: grad - 2)
    node.register_prehook(lambda grads: (grads[0] / 5,))

    def after(t):
        t.grad.add_(0.5)

    leaf.register_post_accumulate_grad_hook(after)
    seen = []
    node.register_hook(lambda given, grads: seen.append(grads[0].tolist()))
    leaf.sum().backward()
    assert seen == [pytest.approx([0.3] * 3)] and leaf.grad.tolist() == seen[0]
    leaf.sum().backward()  # on top of what there is: the hook sees what was added
    assert seen[1] == pytest.approx([-0.2] * 3)
    assert leaf.grad.tolist() == pytest.approx([0.6] * 3)


# ---- passes that begin and end at edges


def _kinds(torch, device):
    """By name: a leaf, and a tensor made of it whose edge is taken."""

    twice = function(
        lambda ctx, a: (a * 2, a.int(), a * 3),
        lambda ctx, first, _, third: first * 2 + third * 3,
    )

    def written_view(x):
        y = x * 2
        y[0].mul_(3)
        return y[0]

    made = {
        "leaf": lambda x: x,
        "result": lambda x: x.exp(),
        "view": lambda x: (x * 2)[1],
        "view_of_leaf": lambda x: x.t(),
        "one_of_many": lambda x: torch.var_mean(x, 0)[1],
        "second_part": lambda x: x.unbind(1)[1],
        "function": lambda x: twice(x)[2],
        "written": lambda x: (x * 2).mul_(3),
        "written_view": written_view,
    }
    leaf = torch.tensor([[1.0, 2.0], [3.0, 5.0]], device=device)
    return {name: (leaf.clone().requires_grad_(), make) for name, make in made.items()}


KINDS = (
    "leaf result view view_of_leaf one_of_many second_part function written written_view".split()
)


@pytest.fixture(params=KINDS)
def place(torch, device, request):
    """A leaf, a tensor made of it, and a loss of that which has a second derivative."""
    x, make = _kinds(torch, device)[request.param]
    y = make(x)
    return x, y, (y * y * y).sum()


def same(found, wanted):
    assert [g if g is None else g.tolist() for g in found] == [
        g if g is None else g.tolist() for g in wanted
    ]


def test_an_edge_names_the_tensors_node(torch, place):
    x, y, _ = place
    edge = torch.autograd.graph.get_gradient_edge(y)
    node, number, token = edge
    assert isinstance(node, torch.autograd.graph.Node) and token is None
    assert number == edge.output_nr == y.output_nr
    assert node is (y.grad_fn or y.view_as(y).grad_fn.next_functions[0][0])
    seen = node._input_metadata[number]
    assert (seen.shape, seen.dtype, seen.device) == (y.shape, y.dtype, y.device)
    assert not seen.is_nested_tensor and len(node._input_metadata) > number


def test_a_pass_ends_at_an_edge_as_at_its_tensor(torch, place):
    x, y, loss = place
    edge, grad = torch.autograd.graph.get_gradient_edge(y), torch.autograd.grad
    wanted = grad(loss, (y, x), retain_graph=True)
    same(grad(loss, edge, retain_graph=True), wanted[:1])
    same(grad(loss, (edge, x), retain_graph=True), wanted)
    same(grad(loss, (y, edge, y), retain_graph=True), [wanted[0]] * 3)
    assert list(grad(loss, {"there": edge}, retain_graph=True)) == ["there"]
    batched = grad(loss.reshape(1), edge, loss.new_ones(2, 1), True, is_grads_batched=True)
    same(batched, [torch.stack([wanted[0]] * 2)])
    first = grad(loss, edge, create_graph=True)
    torch.testing.assert_close(grad(first[0].sum(), edge, retain_graph=True)[0], 6 * y.detach())


def test_a_pass_begins_at_an_edge_as_at_its_tensor(torch, place):
    x, y, loss = place
    edge, grad = torch.autograd.graph.get_gradient_edge(y), torch.autograd.grad
    start = torch.arange(1.0, 1 + y.numel(), device=y.device).reshape(y.shape)
    wanted = grad(y, x, start, retain_graph=True)
    same(grad(edge, x, start, retain_graph=True), wanted)
    same(grad((edge, y), x, [start, start], retain_graph=True), [2 * wanted[0]])
    same(grad(edge, edge, start, retain_graph=True), [start])
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar output"):
        grad(edge, x, retain_graph=True)
    with pytest.raises(RuntimeError, match=r"Mismatch in shape: grad_output\[0\]"):
        grad(edge, x, torch.ones(7, device=y.device), retain_graph=True)
    torch.autograd.backward(edge, start)
    same([x.grad], wanted)


def test_an_edge_outlives_its_tensor(torch, device):
    for x, make in _kinds(torch, device).values():
        y = make(x)
        edge, start = torch.autograd.graph.get_gradient_edge(y), torch.ones_like(y)
        wanted = torch.autograd.grad(y, x, start, retain_graph=True)
        del y
        gc.collect()
        same(torch.autograd.grad(edge, x, start), wanted)


def test_backward_into_an_edge_accumulates_in_leaves_alone(torch, place):
    x, y, loss = place
    edge = torch.autograd.graph.get_gradient_edge(y)
    wanted = torch.autograd.grad(loss, y, retain_graph=True)
    loss.backward(inputs=edge, retain_graph=True)
    if y is x:
        same([x.grad], wanted)
        return
    assert x.grad is None and not y.retains_grad
    y.retain_grad()
    torch.autograd.backward(loss, inputs={"there": edge})
    same([y.grad, x.grad], [wanted[0], None])


def test_the_edge_of_a_tensor_that_is_written_stays_before_the_write(torch, device):
    x = torch.ones(2, device=device).requires_grad_()
    y = x.clone()
    before = torch.autograd.graph.get_gradient_edge(y)
    y *= 2
    after = torch.autograd.graph.get_gradient_edge(y)
    assert before.node is not after.node
    same(torch.autograd.grad(y.sum(), (before, y, after)), [2 * x, x, x])


def test_edges_that_a_pass_does_not_meet(torch, device):
    x = torch.ones(2, device=device).requires_grad_()
    y, elsewhere = x * 2, torch.autograd.graph.get_gradient_edge(x * 3)
    grad = torch.autograd.grad
    with pytest.raises(RuntimeError, match="to not have been used in the graph"):
        grad(y.sum(), elsewhere, retain_graph=True)
    assert grad(y.sum(), (x, elsewhere), retain_graph=True, allow_unused=True)[1] is None
    with pytest.raises(RuntimeError, match="materialize_grads cannot be used when the given input"):
        grad(y.sum(), (x, elsewhere), retain_graph=True, materialize_grads=True)
    edge = torch.autograd.graph.get_gradient_edge(x)
    z = torch.ones(2, device=device).requires_grad_()
    found = grad(y.sum(), (edge, z), materialize_grads=True)
    same(found, [2 * x, 0 * z])


def test_what_is_no_edge(torch, product):
    x, z, y = product
    Edge = torch.autograd.graph.GradientEdge
    with pytest.raises(
        RuntimeError, match="not possible to get the gradient edge for a Tensor tha"
    ):
        torch.autograd.graph.get_gradient_edge(z)
    with pytest.raises(RuntimeError, match="first object must be an autograd.graph.Node but got N"):
        torch.autograd.grad(y.sum(), Edge(None, 0))
    for number in 1, -1:
        with pytest.raises(IndexError, match=f"result {number} is out of bounds"):
            torch.autograd.grad(y.sum(), Edge(y.grad_fn, number))
    for call in (
        lambda: torch.autograd.grad(y.sum(), y.grad_fn),
        lambda: torch.autograd.grad([y.grad_fn], x),
        lambda: torch.autograd.backward([3]),
    ):
        with pytest.raises(TypeError):
            call()


def test_numbers_that_order_nodes(torch, product):
    x, z, _ = product
    order = []
    a, b = x * 2, x * 3
    assert b.grad_fn._sequence_nr() == a.grad_fn._sequence_nr() + 1
    total = (a + b).sum()
    a.register_hook(lambda g: order.append("a"))
    b.register_hook(lambda g: order.append("b"))
    total.backward(retain_graph=True)
    a.grad_fn._set_sequence_nr(b.grad_fn._sequence_nr() + 1)
    total.backward()
    assert order == ["b", "a", "a", "b"]
    leaf = a.grad_fn.next_functions[0][0]
    assert leaf._sequence_nr() == 2**64 - 1


def test_writes_that_nobody_saw(torch, device):
    x = torch.ones(2, device=device).requires_grad_()
    w = torch.ones(2, device=device)
    y = (x * w).sum()
    torch.autograd.graph.increment_version(w)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()
    before = x._version, w._version
    torch.autograd.graph.increment_version(t for t in (x, w, w))
    assert (x._version, w._version) == (before[0] + 1, before[1] + 2)
    with torch.inference_mode():
        outside = torch.ones(2, device=device)
    torch.autograd.graph.increment_version(outside)
    for wrong, text in (3, "expect a Iterable"), ([3], "each element of the iterable"):
        with pytest.raises(RuntimeError, match=text):
            torch.autograd.graph.increment_version(wrong)


@pytest.mark.parametrize("kind", [list, tuple, iter])
def test_ends_of_a_pass_may_come_one_by_one(torch, kind):
    x, unused = torch.ones(2).requires_grad_(), torch.ones(3).requires_grad_()
    found = torch.autograd.grad(kind([x.sum()]), kind([x, unused]), materialize_grads=True)
    assert [g.tolist() for g in found] == [[1, 1], [0, 0, 0]]
    torch.autograd.backward(kind([x.sum()]), inputs=kind([x]))
    x.sum().backward(inputs=kind([x]))
    assert x.grad.tolist() == [2, 2]
    for run in (torch.Tensor.backward, torch.autograd.backward):
        with pytest.raises(
            RuntimeError, match="`inputs` argument to `backward\\(\\)` cannot be empty"
        ):
            run(x.sum(), inputs=kind([]))
