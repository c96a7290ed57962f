"""`view._base` and `node.variable` are the program's own objects, whatever made the view or the
leaf, in threads, and after collections; and nothing is kept alive for it."""

import gc
import threading
import weakref

import pytest

VIEWS = {
    "view": lambda x: x.view(6),
    "reshape": lambda x: x.reshape(3, 2),
    "index": lambda x: x[1],
    "slice": lambda x: x[:, 1:],
    "new dimension": lambda x: x[None],
    "transpose": lambda x: x.t(),
    "T": lambda x: x.T,
    "expand": lambda x: x[:, :1].expand(2, 4),
    "unbind": lambda x: x.unbind()[1],
    "split": lambda x: x.split(1)[0],
    "chunk": lambda x: x.chunk(2)[1],
    "iteration": lambda x: list(x)[0],
    "a view of a view": lambda x: x.view(6)[2:].view(2, 2).t(),
    "broadcast": lambda x: __import__("flambeau").broadcast_tensors(x, x.new_ones(4, 2, 3))[0],
}


def sources(torch):
    class Own(torch.Tensor):
        pass

    yield torch.ones(2, 3)
    yield torch.ones(2, 3, requires_grad=True)
    yield torch.nn.Parameter(torch.ones(2, 3))
    yield torch.nn.Linear(3, 2).weight
    yield torch.ones(2, 3).as_subclass(Own)
    yield torch.ones(2, 3) + 1


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_knows_the_program_s_object(torch, name):
    for x in sources(torch):
        x.mark = object()
        view = VIEWS[name](x)
        assert view._is_view() and view._base is x
        gc.collect()
        assert view._base is x and view._base.mark is x.mark
    assert x._base is None


LEAVES = {
    "requires_grad_": lambda torch: torch.ones(2).requires_grad_(),
    "assignment": lambda torch: setattr(x := torch.ones(2), "requires_grad", True) or x,
    "a creation": lambda torch: torch.randn(2, requires_grad=True),
    "tensor": lambda torch: torch.tensor([1.0, 2.0], requires_grad=True),
    "Parameter": lambda torch: torch.nn.Parameter(torch.ones(2)),
    "a thawed Parameter": lambda torch: torch.nn.Parameter(
        torch.ones(2), requires_grad=False
    ).requires_grad_(),
    "a module": lambda torch: torch.nn.Linear(2, 2).bias,
    "a copy": lambda torch: __import__("copy").deepcopy(torch.nn.Linear(2, 2)).bias,
    "detach": lambda torch: (torch.ones(2).requires_grad_() * 2).detach().requires_grad_(),
}


@pytest.mark.parametrize("name", LEAVES)
def test_a_node_knows_the_program_s_leaf(torch, name):
    w = LEAVES[name](torch)
    y = w * 2
    gc.collect()
    assert y.grad_fn.next_functions[0][0].variable is w


def test_what_the_program_let_go_is_one_object_while_it_is_held(torch):
    view = torch.ones(4).view(2, 2)
    assert view._base is view._base and view._base.shape == (4,)
    y = torch.ones(2, requires_grad=True) * 2
    leaf = y.grad_fn.next_functions[0][0].variable
    assert y.grad_fn.next_functions[0][0].variable is leaf and leaf.requires_grad


def test_no_object_is_kept_alive(torch):
    x = torch.ones(4)
    gone, view = weakref.ref(x), x.view(2, 2)
    del x
    assert gone() is None and view._base is not None


def test_a_new_tensor_at_an_old_place_is_itself(torch):
    for i in range(10_000):
        x = torch.full((2,), float(i))
        v = x.view(2, 1)
        if i % 1000 == 0:
            assert v._base is x
        del x, v
    kept = [torch.ones(1) for _ in range(10_000)]
    views = [t.view(1) for t in kept]
    assert all(v._base is t for v, t in zip(views, kept))


def test_what_is_gone_is_forgotten(torch):
    from flambeau._library import owner

    kept = [torch.ones(1) for _ in range(20_000)]
    for t in kept:
        t.view(1)
    assert len(owner.objects) >= 20_000
    del kept, t
    gc.collect()
    assert len(owner.objects) < 10_000


def test_threads(torch):
    problems = []

    def work():
        for _ in range(3000):
            x = torch.ones(2, requires_grad=True)
            v, y = x.view(2, 1), x * 2
            if v._base is not x or y.grad_fn.next_functions[0][0].variable is not x:
                problems.append(x)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for _ in range(20):
        gc.collect()
    for t in threads:
        t.join()
    assert not problems


ITSELF = {
    "flatten": lambda torch, x: x.flatten(1, 1),
    "dropout": lambda torch, x: torch.dropout(x, 0.5, False),
    "functional": lambda torch, x: torch.nn.functional.dropout(x, 0.5, training=False),
    "alpha_dropout": lambda torch, x: torch.nn.functional.alpha_dropout(x, 0.5),
    "module": lambda torch, x: torch.nn.Dropout().eval()(x),
    "positive": lambda torch, x: +x,
    "atleast": lambda torch, x: torch.atleast_2d(x),
    "contiguous": lambda torch, x: x.contiguous(),
    "to": lambda torch, x: x.to(x.dtype),
    "float": lambda torch, x: x.float(),
    "cpu": lambda torch, x: x.to(x.device),
    "type_as": lambda torch, x: x.type_as(x),
    "sum_to_size": lambda torch, x: x.sum_to_size(2, 3),
}


@pytest.mark.parametrize("name", ITSELF)
def test_what_has_nothing_to_do_returns_the_very_object(torch, name):
    x = torch.ones(2, 3)
    x.note = "the program's"
    assert ITSELF[name](torch, x) is x
