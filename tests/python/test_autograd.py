"""Gradients from Python: backward, modes, hooks, functions of one's own."""

import pytest

from tests.harness.functions import function


def test_backward_accumulates(torch, device):
    w = torch.tensor([1.0, 2.0], device=device, requires_grad=True)
    (w * w).sum().backward()
    (w * w).sum().backward()
    assert w.grad.tolist() == [4, 8]
    w.grad = None
    assert w.grad is None
    w.grad = torch.ones(2, device=device)
    assert w.grad.tolist() == [1, 1]


def test_graph_facts(torch):
    w = torch.ones(2, requires_grad=True)
    y = w * 2
    assert w.is_leaf and not y.is_leaf and y.requires_grad and w.grad_fn is None
    assert y.grad_fn.name() == "MulBackward0" and repr(y.grad_fn).startswith(
        "<MulBackward0 object at "
    )
    assert y.grad_fn.next_functions[0][0].variable.tolist() == [1, 1]
    assert not y.detach().requires_grad


@pytest.mark.parametrize("mode", ["no_grad", "inference_mode"])
def test_modes(torch, mode):
    w = torch.ones(2, requires_grad=True)
    scope = getattr(torch, mode)
    with scope():
        assert not (w * 2).requires_grad
        with torch.enable_grad():
            assert torch.is_grad_enabled()
    assert (w * 2).requires_grad

    @scope()
    def decorated():
        return (w * 2).requires_grad

    assert not decorated() and torch.is_grad_enabled()


def test_decorator_without_parentheses_and_generators(torch):
    @torch.no_grad
    def plain():
        return torch.is_grad_enabled()

    @torch.no_grad()
    def generator():
        yield torch.is_grad_enabled()
        yield torch.is_grad_enabled()

    assert plain() is False
    steps = generator()
    assert next(steps) is False and torch.is_grad_enabled()
    assert list(steps) == [False]


def test_multithreading_is_set_for_each_call_of_a_decorated_function(torch):
    allowed = torch.autograd.is_multithreading_enabled
    single = torch.autograd.set_multithreading_enabled(False)
    assert single.mode is False and not allowed()  # a decorator's constructor sets it, too

    @single
    def plain():
        return allowed()

    @single
    def generator():
        yield allowed()
        yield allowed()

    for before in True, False:
        torch.autograd.set_multithreading_enabled(before)
        assert plain() is False and allowed() is before
        steps = generator()
        assert next(steps) is False and allowed() is before
        assert list(steps) == [False] and allowed() is before
    with torch.autograd.set_multithreading_enabled(True):
        assert allowed()
    assert not allowed()
    torch.autograd.set_multithreading_enabled(True)


def test_set_grad_enabled(torch):
    torch.set_grad_enabled(False)
    assert not torch.is_grad_enabled()
    torch.set_grad_enabled(True)
    with torch.set_grad_enabled(False):
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()


def test_hooks(torch):
    w = torch.ones(2, requires_grad=True)
    seen = []
    handle = w.register_hook(lambda g: seen.append(g.tolist()) or g * 10)
    (w * 3).sum().backward()
    assert seen == [[3, 3]] and w.grad.tolist() == [30, 30]
    handle.remove()
    (w * 3).sum().backward()
    assert w.grad.tolist() == [33, 33]


def test_exception_of_a_hook_is_the_same_object(torch):
    problem = KeyError("mine")

    def hook(grad):
        raise problem

    w = torch.ones(2, requires_grad=True)
    w.register_hook(hook)
    with pytest.raises(KeyError) as found:
        (w * 3).sum().backward()
    assert found.value is problem
    assert (torch.ones(1) + 1).item() == 2  # nothing is left pending


def test_function(torch):
    def forward(ctx, x, factor):
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x * x * x * factor

    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        assert ctx.needs_input_grad == (True, False)
        return grad * 3 * x * x * ctx.factor, None

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = function(forward, backward, "Cube")(x, 2.0)
    assert y.grad_fn.name() == "CubeBackward"
    (first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    assert first.tolist() == [6, 24]
    first.sum().backward()
    assert x.grad.tolist() == [12, 24]


def test_function_with_a_wrong_number_of_gradients(torch):
    wrong = function(lambda ctx, a, b: a + b)
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"incorrect number of gradients \(expected 2, got 1\)"):
        wrong(x, x).sum().backward()


def test_second_backward_and_overwritten_values(torch):
    x = torch.ones(2, requires_grad=True)
    y = (x * x).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()
    z = x * 1
    out = (z * z).sum()
    z.add_(1)
    with pytest.raises(RuntimeError, match='"add_" wrote to it'):
        out.backward()


def test_grad_frees_only_what_it_walked(torch):
    a, b = torch.ones(2, requires_grad=True), torch.zeros(2, requires_grad=True)
    z = b.exp()
    torch.autograd.grad((a * z).sum(), a)
    z.sum().backward()
    assert b.grad.tolist() == [1, 1]


def test_hooks_keep_the_kind_of_a_gradient(torch):
    for change, text in (
        (lambda g: torch.ones(3), "changed the size of value"),
        (lambda g: g.double(), "changed the type of value"),
    ):
        leaf = torch.ones(2, requires_grad=True)
        leaf.register_hook(change)
        with pytest.raises(RuntimeError, match=text):
            (leaf * 2).sum().backward()
        inner = torch.ones(2, requires_grad=True) * 2
        inner.register_hook(change)
        with pytest.raises(RuntimeError, match=text):
            (inner * 2).sum().backward()


def test_backward_to_inputs(torch):
    a, calls = torch.ones(2, requires_grad=True), []
    a.register_post_accumulate_grad_hook(lambda p: calls.append(p.grad.tolist()))
    torch.autograd.backward((a * 2).sum(), inputs=[a, a])
    assert calls == [[2, 2]]
    a.grad = None
    a.backward(torch.ones(2, dtype=torch.float64))
    assert a.grad.dtype == torch.float32


def test_indices_are_saved_with_their_version(torch):
    def index():
        return torch.tensor([0, 1])

    F = torch.nn.functional
    for op in (
        lambda x, i: x[i],
        lambda x, i: x.gather(0, i),
        lambda x, i: x.index_select(0, i),
        lambda x, i: x.scatter(0, i, 0.0),
        lambda x, i: x.index_fill(0, i, 0.0),
        lambda x, i: F.embedding(i, x.reshape(3, 1)),
    ):
        x, i = torch.ones(3, requires_grad=True), index()
        y = op(x, i)
        i.add_(1)
        with pytest.raises(RuntimeError, match='"add_" wrote to it'):
            y.sum().backward()


def test_frozen_statistics_are_those_of_the_forward(torch):
    x = torch.tensor([[1.0], [3.0]], requires_grad=True)
    w = torch.ones(1, requires_grad=True)
    mean, var = torch.zeros(1), torch.ones(1)
    y = torch.nn.functional.batch_norm(x, mean, var, w, training=False, eps=0.0)
    mean.add_(100)
    y.sum().backward()
    assert w.grad.item() == 4


def test_out_and_recorded_operands(torch):
    a, b = torch.ones(2, 2, requires_grad=True), torch.empty(2, 2)
    for call in (torch.mul, torch.mm, torch.matmul):
        with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
            call(a, a, out=b)
    with torch.no_grad():
        assert torch.mul(a, a, out=b) is b


def test_integers_take_no_gradient(torch):
    w, x = torch.ones(2, requires_grad=True), torch.zeros(2, dtype=torch.int64)
    x.copy_(w)
    assert not x.requires_grad and x.tolist() == [1, 1]


@pytest.mark.parametrize("save", ["operand", "result"])
@pytest.mark.parametrize("part", [lambda t: t, lambda t: t[:1], lambda t: t.detach().view(-1)])
def test_writes_through_data_are_not_noticed(torch, device, save, part):
    def write(taken):
        w = torch.full((2,), 3.0, device=device, requires_grad=True)
        y = w * w if save == "operand" else w.exp()
        part(taken(w if save == "operand" else y)).zero_()
        y.sum().backward()
        return w.grad.cpu().tolist()[0]

    assert write(lambda t: t.data) == 0
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        write(lambda t: t.detach())


def test_data_and_its_views_count_their_own_writes(torch):
    x = torch.zeros(3).add_(1)
    apart = x.data
    view = apart[1:]
    view.add_(1)
    assert (x._version, apart._version, view._version, apart.data._version) == (1, 1, 1, 0)
    x.detach().add_(1)
    assert (x._version, apart._version) == (2, 1) and x.tolist() == apart.tolist() == [2, 3, 3]


def test_an_optimizer_step_is_a_write(torch):
    for make in (torch.optim.SGD, torch.optim.Adam):
        w = torch.ones(2, requires_grad=True)
        optimizer, y = make([w], lr=0.1), (w * w).sum()
        y.backward(retain_graph=True)
        optimizer.step()
        with pytest.raises(RuntimeError, match="wrote to it between"):
            y.backward()


@pytest.mark.parametrize("other", [0, 2])
@pytest.mark.parametrize("own", [0, 1])
def test_replaced_data_goes_on_counting(torch, own, other):
    w, given = torch.ones(1, requires_grad=True), torch.zeros(1)
    for t, writes in ((w.detach(), own), (given, other)):
        for _ in range(writes):
            t.fill_(1)
    y = (w * w).sum()
    w.data = given
    given.fill_(3)
    assert w._version == own
    y.backward()
    assert w.grad.item() == 6
    y = (w * w).sum()
    w.detach().fill_(5)
    assert (w._version, given._version) == (own + 1, other + 1)
    with pytest.raises(RuntimeError, match='_" wrote to it between'):
        y.backward()


def test_a_moved_module_goes_on_counting(torch):
    layer = torch.nn.Linear(2, 2)
    with torch.no_grad():
        layer.weight.fill_(1)
    before = layer.weight._version
    layer.double().half()
    assert layer.weight._version == before > 0


def test_hooks_of_several_tensors(torch):
    register = torch.autograd.graph.register_multi_grad_hook
    a, b, c = (torch.ones(1, requires_grad=True) for _ in range(3))
    middle = a * 2
    together, first = [], []
    handle = register((middle, b, c), lambda grads: together.append(grads))
    with register((middle, b), first.append, mode="any"):
        for _ in range(2):
            (middle * b).sum().backward(retain_graph=True)
    assert [[None if g is None else g.item() for g in grads] for grads in together] == [
        [1, 2, None]
    ] * 2
    assert len(first) == 2 and all(hasattr(g, "item") for g in first)
    torch.autograd.grad((middle * b * c).sum(), c)  # one of the three is reached
    assert [g is None for g in together[2]] == [True, True, False]
    handle.remove()
    (middle * b).sum().backward()
    assert len(together) == 3 and len(first) == 2
    with pytest.raises(ValueError, match="Expects mode to be one of"):
        register((a,), print, mode="some")


def test_a_hook_tells_passes_apart(torch):
    from tests.harness.gen import api

    a, b = (torch.ones(1, requires_grad=True) for _ in range(2))
    seen = []

    def hook(grad):
        seen.append((api.backward_pass(), api.backward_reaches(b), api.backward_is_whole()))

    a.register_hook(hook)
    (a * b).backward()
    (a * 2).backward()
    torch.autograd.grad((a * b).sum(), a)
    passes, reached, whole = zip(*seen)
    assert len(set(passes)) == 3 and 0 not in passes
    assert reached == (True, False, False) and whole == (True, True, False)
    assert api.backward_pass() == 0 and not api.backward_reaches(b)


def test_a_function_shows_what_its_context_has(torch):
    function = torch.autograd.Function
    for name in "save_for_backward", "mark_dirty", "mark_non_differentiable":
        assert callable(getattr(function, name))
    assert issubclass(function, torch.autograd.function.FunctionCtx)


def test_gradients_of_several_rows(torch, device):
    grad = torch.autograd.grad
    x = torch.tensor([0.3, 0.7], device=device, requires_grad=True)
    other = torch.ones(3, device=device, requires_grad=True)
    y, total = x.sin(), (x * x).sum()
    rows = torch.eye(2, device=device)
    (found,) = grad(y, x, rows, is_grads_batched=True, create_graph=True)
    assert torch.allclose(found, x.cos().diag())
    (second,) = grad(found.sum(), x, retain_graph=True)
    assert torch.allclose(second, -x.sin())
    ones = torch.ones(2, device=device)
    found, none = grad(
        [y, total], [x, other], [rows, ones], True, allow_unused=True, is_grads_batched=True
    )
    assert torch.allclose(found, x.cos().diag() + 2 * x) and none is None
    assert grad(y, x, rows[:0], True, is_grads_batched=True)[0].shape == (0, 2)
    with pytest.raises(RuntimeError, match="a mismatch was detected"):
        grad(y, x, rows[:, :1], is_grads_batched=True)
    with pytest.raises(RuntimeError, match="only for scalar outputs"):
        grad(y, x, is_grads_batched=True)
    named = grad(y, {"x": x}, ones)
    assert list(named) == ["x"] and torch.allclose(named["x"], x.cos())


def test_calls_at_the_end_of_a_backward_pass(torch):
    queue = torch.autograd.Variable._execution_engine.queue_callback
    called = []

    class Asks(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, depth):
            ctx.depth = depth
            return x * 1

        @staticmethod
        def vjp(ctx, grad):
            queue(lambda: called.append(ctx.depth))
            queue(lambda: queue(lambda: called.append("after")))
            if ctx.depth:
                inner = torch.ones(2, requires_grad=True)
                with torch.enable_grad():
                    Asks.apply(inner, ctx.depth - 1).sum().backward()
            return grad, None

    x = torch.ones(2, requires_grad=True)
    Asks.apply(x, 1).sum().backward()
    assert called[0] == 0 and called.count("after") == 2 and 1 in called
    called.clear()
    torch.autograd.grad(Asks.apply(x, 0).sum(), x)
    assert called == [0, "after"]
    called.clear()
    handle = x.register_hook(lambda grad: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        Asks.apply(x, 0).sum().backward()
    handle.remove()
    x.sum().backward()
    assert called == []  # a pass that failed leaves none behind


def test_calls_that_fail_and_those_without_a_pass(torch):
    queue, called = torch.autograd.Variable._execution_engine.queue_callback, []
    with pytest.raises(RuntimeError, match="only be installed during backward pass"):
        queue(lambda: called.append("never"))
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda grad: [queue(lambda: 1 / 0), queue(lambda: called.append("later"))][0])
    with pytest.raises(ZeroDivisionError):
        y.sum().backward()
    (x * 2).sum().backward()
    assert called == []


def test_calls_at_the_end_of_passes_that_went_on_on_another_thread(torch):
    queue, called = torch.autograd.Variable._execution_engine.queue_callback, []

    def nested(depth):
        x = torch.ones(1, requires_grad=True)
        y = x * 2

        def hook(grad):
            queue(lambda: called.append(depth))
            if depth:
                with torch.enable_grad():
                    nested(depth - 1)

        y.register_hook(hook)
        y.sum().backward()

    nested(150)
    assert called == list(range(151))


def test_what_custom_functions_and_hooks_may_not_be(torch):
    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            return grad

        vjp = backward

    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="both 'backward' and 'vjp'"):
        Both.apply(x)
    with pytest.raises(RuntimeError, match="Legacy autograd function"):
        Both()(x)
    x.register_post_accumulate_grad_hook(lambda leaf: leaf.grad)
    with pytest.raises(RuntimeError, match="should return None"):
        x.sum().backward()
    leaves = [torch.ones(2, requires_grad=True) for _ in range(2)]
    leaves[0].register_post_accumulate_grad_hook(lambda leaf: leaf.mul_(2))  # which is itself
    leaves[0].sum().backward()
    leaves[1].register_post_accumulate_grad_hook(lambda leaf: 2.0)
    with pytest.raises(TypeError, match="returned float"):
        leaves[1].sum().backward()
    with pytest.raises(AttributeError, match="_saved_self' is unsupported"):
        (x * x).grad_fn._saved_self  # noqa: B018
    assert not hasattr((x * x).grad_fn, "_raw_saved_other")


def test_a_gradient_has_its_older_name(torch, device):
    x = torch.ones(2, device=device, requires_grad=True)
    x._grad = torch.full_like(x, 3.0).detach()
    assert x.grad is x._grad and x.grad.tolist() == [3.0, 3.0]
    x._grad = None
    assert x.grad is None


def test_a_leaf_of_inference_mode_is_resized(torch, device):
    with torch.inference_mode():
        leaf = torch.ones(1, 2, 3, device=device, requires_grad=True)
        assert leaf.resize_(1, 2).shape == (1, 2) and leaf.requires_grad
    leaf = torch.ones(2, device=device, requires_grad=True)
    with torch.no_grad(), pytest.raises(RuntimeError, match="cannot resize variables"):
        leaf.resize_(1)
