"""Subclasses of Tensor and Parameter, and what copies and pickles keep of a tensor."""

import _thread
import copy
import pathlib
import pickle
import sys
import threading

import flambeau
import pytest

from tests.harness import child

# Once a program has a subclass of Tensor, functions ask their arguments' classes: a process of its
# own.
SUBCLASS = """
import flambeau as torch
from flambeau.nn import functional as F
class Marked(torch.Tensor):
    def hello(self):
        return "hi"
x = torch.ones(2, requires_grad=True).as_subclass(Marked)
assert isinstance(x, torch.Tensor) and repr(x) == "Marked([1., 1.], requires_grad=True)"
for y in (x + 1, 1 - x, torch.ones(2) * x, -x, x.sum(), torch.add(x, 1), F.relu(x), x[0], x.T,
          torch.cat([x, x]), x.max(0).values, x.split(1)[1], x.data, x.clone(), x.double()):
    assert type(y) is Marked and y.hello() == "hi", y
(x * x).sum().backward()
assert x.grad.tolist() == [2, 2] and type(x.grad) is Marked and type(x.tolist()) is list
assert type(Marked([1, 2])) is Marked and Marked(2, 3).shape == (2, 3)
assert type(torch.Tensor._make_subclass(Marked, torch.ones(1))) is Marked
for name in torch.functional.__all__:
    assert getattr(torch.functional, name) == getattr(torch, name), name
assert type(torch.ones(2) + 1) is torch.Tensor

seen = []
class Watching(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        seen.append(func)
        return super().__torch_function__(func, types, args, kwargs or {})
w = torch.ones(2).as_subclass(Watching)
w + 1; torch.sin(w); w.sum()
assert seen == [torch.Tensor.add, torch.sin, torch.Tensor.sum]
with torch.DisableTorchFunctionSubclass():
    assert type(w + 1) is torch.Tensor and len(seen) == 3

class Number:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func.__name__ if func is torch.mean else NotImplemented
assert torch.mean(Number()) == "mean"
try:
    torch.add(Number(), 1)
except TypeError as problem:
    assert "no implementation found for 'torch.add'" in str(problem)
assert type(torch.nn.Linear(2, 2)(torch.ones(1, 2))) is torch.Tensor
print("done")
"""


# Functions that a program took before it defined its class, and those of modules loaded after it.
ASKED = """
import flambeau as torch
from flambeau.nn import functional as F
from flambeau._library import owner
from flambeau.overrides import _UNASKED

def functions(space):
    found = [(name, getattr(space, name)) for name in dir(space) if not name.startswith("_")]
    return [f for name, f in found if isinstance(f, owner.Function) and name not in _UNASKED]

before = functions(torch) + functions(F) + functions(torch.linalg)
class Asked(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func
x = torch.ones(2, 2).as_subclass(Asked)
after = functions(torch.special) + functions(torch.functional)
assert len(before) > 700 and len(after) > 50
deaf = [f.__name__ for f in before + after if f(x) is not f]
assert not deaf, deaf
assert functions(torch) + functions(F) + functions(torch.linalg) == before
print("done")
"""

PARAMETERS = """
import copy
import io
import pickle
import flambeau as torch

class Marked(torch.Tensor):
    pass

class Own(torch.nn.Parameter):
    pass

p = torch.nn.Parameter(torch.ones(2).as_subclass(Marked))
assert type(p) is Marked and isinstance(p, torch.nn.Parameter) and p.requires_grad and p.is_leaf
assert repr(p).count("Marked(") == 1 and repr(p).count("Parameter") == 1
assert not isinstance(p, Own) and isinstance(Own(torch.ones(1)), torch.nn.Parameter)
assert not torch.nn.Parameter(p.detach(), False).requires_grad
assert not isinstance(p.detach(), torch.nn.Parameter) and type(p + 1) is Marked
assert not isinstance(p * 2, torch.nn.Parameter)
module = torch.nn.Module()
module.weight = p
assert list(module.parameters()) == [p] and list(module.state_dict()) == ["weight"]
file = io.BytesIO()
torch.save(p, file)
file.seek(0)
for twin in (copy.deepcopy(p), pickle.loads(pickle.dumps(p)), torch.load(file, weights_only=False)):
    assert type(twin) is Marked and isinstance(twin, torch.nn.Parameter) and twin is not p
    assert twin.requires_grad and twin.tolist() == [1, 1]
print("done")
"""


@pytest.mark.parametrize(
    "program", [SUBCLASS, ASKED, PARAMETERS], ids=["tensors", "functions", "parameters"]
)
def test_subclass_of_tensor(program):
    assert child.output(program) == "done\n"


AFTER_A_SUBCLASS = """
import sys
import flambeau as torch
import pytest
class Marked(torch.Tensor):
    pass
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", sys.argv[1]]))
"""


def test_arguments_are_refused_after_a_subclass_as_before():
    arguments = pathlib.Path(__file__).with_name("test_arguments.py")
    done = child.python("-c", AFTER_A_SUBCLASS, arguments)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr


def test_a_thread_may_begin_with_a_number(torch, monkeypatch):
    problems, ended = [], threading.Event()
    monkeypatch.setattr(sys, "unraisablehook", problems.append)

    class Last:
        def __del__(self):
            ended.set()

    number = torch.tensor(1.5)
    number.last = Last()
    _thread.start_new_thread(int, (number,))  # no Python function calls it
    del number
    assert ended.wait(60) and not problems


class Scale(flambeau.nn.Parameter):
    """A parameter of a program's own."""

    def twice(self):
        return 2 * self


def test_subclass_of_parameter(torch):
    p = Scale(torch.ones(2))
    module = torch.nn.Module()
    module.scale = p
    assert list(module.parameters()) == [p] and type(p + 1) is torch.Tensor
    assert p.twice().tolist() == [2, 2] and repr(p).endswith(
        "Parameter(Scale([1., 1.], requires_grad=True))"
    )
    assert type(copy.deepcopy(p)) is Scale and type(pickle.loads(pickle.dumps(p))) is Scale


def test_copies(torch, device):
    x = torch.ones(2, device=device, requires_grad=True)
    x.tag = ["a"]
    deep, shallow = copy.deepcopy(x), copy.copy(x)
    assert deep.tag == ["a"] and deep.tag is not x.tag and shallow.tag is x.tag
    assert deep.requires_grad and shallow.data_ptr() == x.data_ptr() != deep.data_ptr()
    with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user"):
        copy.deepcopy(x * 2)
    base = torch.arange(4.0, device=device)
    both = copy.deepcopy({"all": base, "end": base[1:], "odd": base[1::2]})
    both["all"][1] = 9
    assert both["end"].tolist() == [9, 2, 3] and both["odd"].tolist() == [9, 3] and base[1] == 1
    turned = torch.ones(2, 3, device=device).t()
    assert copy.deepcopy(turned).stride() == pickle.loads(pickle.dumps(turned)).stride() == (1, 3)


def test_copies_of_modules(torch):
    layer = torch.nn.Linear(2, 2)
    layer.tied = layer.weight
    layer(torch.ones(1, 2)).sum().backward()
    twin = copy.deepcopy(layer)
    assert twin.tied is twin.weight and twin.weight is not layer.weight and twin.weight.grad is None


def test_pickles_keep_attributes(torch):
    x, p = torch.ones(2, requires_grad=True), torch.nn.Parameter(torch.ones(2), requires_grad=False)
    x.tag, p.tag = 1, 2
    y, q = pickle.loads(pickle.dumps((x, p)))
    assert (y.tag, q.tag) == (1, 2) and y.requires_grad and not q.requires_grad
    assert type(q) is torch.nn.Parameter
    module = pickle.loads(pickle.dumps(torch.nn.Sequential(torch.nn.Linear(2, 1))))
    assert module(torch.ones(1, 2)).shape == (1, 1)
