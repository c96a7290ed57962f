"""What has no compiler behind it runs as Python: torch.compile, torch.jit; and calls of modules
with other parameters, and trees of values."""

import warnings
from collections import OrderedDict, namedtuple

import pytest


def test_compile_returns_its_argument_and_says_so_once(torch, monkeypatch):
    from flambeau import _deprecated

    monkeypatch.setattr(_deprecated, "_told", set())
    net = torch.nn.Linear(2, 2)
    with pytest.warns(UserWarning, match="runs the model as it is written"):
        assert torch.compile(net, mode="reduce-overhead") is net
    with warnings.catch_warnings():
        warnings.simplefilter("error")

        @torch.compile(fullgraph=True)
        def double(x):
            return x + x

        net.compile()
    assert double(torch.ones(1)).item() == 2 and not torch.compiler.is_compiling()
    with pytest.raises(RuntimeError, match="can't be specified at the same time"):
        torch.compile(net, mode="default", options={})


def test_jit_runs_python(torch, monkeypatch):
    from flambeau import _deprecated, jit

    monkeypatch.setattr(_deprecated, "_told", set())
    net = torch.nn.Linear(2, 2)
    with pytest.warns(UserWarning, match="no TorchScript"):
        assert jit.script(net) is net
    with pytest.warns(UserWarning, match="no TorchScript"):
        assert jit.trace(net, torch.ones(1, 2)) is net
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        jit.trace(net, torch.ones(1, 3))

    class Old(jit.ScriptModule):
        @jit.script_method
        def forward(self, x):
            return jit.wait(jit.fork(self.half, x))

        @jit.ignore
        def half(self, x):
            return x / 2

    assert Old()(torch.ones(1)).item() == 0.5 and not jit.is_scripting()
    assert jit.isinstance([1], list[int]) and jit.annotate(int, 3) == 3
    with pytest.raises(NotImplementedError, match="save the state_dict"):
        jit.save(net, "net.pt")


def test_trees(torch):
    from flambeau.utils import _pytree as tree

    Pair = namedtuple("Pair", "x y")
    value = {"a": [1, (2, 3)], "b": Pair(4, OrderedDict(c=5)), "d": None}
    leaves, spec = tree.tree_flatten(value)
    assert leaves == [1, 2, 3, 4, 5, None] and spec.num_leaves == 6
    assert tree.tree_unflatten(leaves, spec) == value
    doubled = tree.tree_map_only(int, lambda v: 2 * v, value)
    assert doubled["b"] == Pair(8, {"c": 10}) and doubled["d"] is None
    assert tree.tree_map(lambda a, b: a + b, [1, 2], [3, 4]) == [4, 6]
    assert tree.tree_any(lambda v: v == 5, value) and not tree.tree_all(bool, value)
    assert (
        str(tree.tree_structure((1, [2])))
        == "TreeSpec(tuple, None, [*,\n  TreeSpec(list, None, [*])])"
    )
    with pytest.raises(ValueError, match="mismatch"):
        tree.tree_map(lambda a, b: a, [1, 2], [1])
    with pytest.raises(ValueError, match="has length 1"):
        tree.tree_unflatten([1], spec)

    class Box:
        def __init__(self, inside):
            self.inside = inside

    tree.register_pytree_node(Box, lambda b: ([b.inside], None), lambda parts, _: Box(*parts))
    assert tree.tree_map(lambda v: v + 1, Box([1])).inside == [2]
