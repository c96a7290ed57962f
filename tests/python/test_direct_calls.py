"""Functions, methods and operators that call C at once where they are given tensors alone: the same
results and errors as by the function of Python's that takes everything else, which every other
kind of argument reaches."""

import copy
import functools
import inspect
import pickle

import flambeau as torch
import numpy as np
import pytest
from flambeau._library import owner
from flambeau.nn import functional as F

SPACES = {
    "torch": torch,
    "F": F,
    "linalg": torch.linalg,
    "special": torch.special,
    "fft": torch.fft,
}


def direct():
    """All of them, by a name with their space: what is called, Python's function, and how many
    tensors they take."""
    found = {}
    for space, holder in SPACES.items():
        for name, value in sorted(vars(holder).items()):
            if isinstance(value, owner.Function) and getattr(value.func, "_direct", ()):
                found[f"{space}.{name}"] = value, value.func, value.func._direct[1]
    for name, value in vars(torch.Tensor).items():
        if isinstance(value, owner.Method):
            count = len(inspect.signature(value.func).parameters)
            count = getattr(value.func, "_direct", (None, count))[1]
            found[f"Tensor.{name}"] = value, value.func, count
    return found


DIRECT = direct()
KINDS = {
    "square": lambda i: torch.tensor([[0.25, 0.5 + i], [-0.125, 0.75]]),
    "integers": lambda i: torch.tensor([[1, 2 + i], [3, 4]]),
    "vector": lambda i: torch.tensor([0.5, 0.25 + i, 0.125]),
    "other sizes": lambda i: torch.ones(2 + i, 3),
    "with gradient": lambda i: torch.full((2, 2), 0.5, requires_grad=True),
}


def outcome(function, operands):
    try:
        found = function(*operands)
    except Exception as problem:
        return type(problem), str(problem)
    made = found.grad_fn.name() if found.grad_fn else None
    return type(found), found.dtype, made, found.detach().numpy().tobytes()


def test_there_are_many():
    assert len(DIRECT) > 250
    assert {"torch.add", "torch.matmul", "F.relu", "Tensor.__add__", "Tensor.exp"} <= set(DIRECT)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", sorted(DIRECT))
def test_as_by_python(name, kind):
    function, by_python, count = DIRECT[name]
    operands = [KINDS[kind](i) for i in range(count)]
    assert outcome(function, operands) == outcome(by_python, operands)


@pytest.mark.parametrize("name", sorted(DIRECT))
def test_says_what_it_is(name):
    function, by_python, _ = DIRECT[name]
    assert inspect.signature(function) == inspect.signature(by_python)
    assert function.__doc__ == by_python.__doc__ and repr(function).startswith("<function ")


@pytest.mark.parametrize("name", sorted(DIRECT))
def test_copies_and_pickles_are_itself(name):
    function = DIRECT[name][0]
    assert copy.copy(function) is function and copy.deepcopy(function) is function
    part = pickle.loads(pickle.dumps(functools.partial(function)))
    assert pickle.loads(pickle.dumps(function)) is function is part.func


def test_what_is_no_tensor_goes_to_python():
    x = torch.tensor([1.0, 2.0])
    assert torch.add(x, 1).tolist() == (1 + x).tolist() == x.__add__(1).tolist() == [2, 3]
    assert torch.add(x, x, alpha=2).tolist() == [3, 6]
    assert (x + np.array([1.0, 2.0], dtype=np.float32)).tolist() == [2, 4]
    assert x.__add__("one") is NotImplemented
    with pytest.raises(TypeError, match="add"):
        torch.add(x)
    with pytest.raises(TypeError):
        torch.Tensor.__add__(1, x)
    out = torch.empty(2)
    assert torch.exp(x, out=out) is out


def test_methods_are_bound():
    x = torch.tensor([1.0, 2.0])
    bound = x.exp
    assert bound().tolist() == x.exp().tolist() == torch.Tensor.exp(x).tolist()
    assert [m(x).tolist() for m in (torch.neg, torch.Tensor.neg, torch.Tensor.__neg__)] == [
        [-1.0, -2.0]
    ] * 3


def test_a_subclass_and_a_parameter_get_what_python_gives():
    class Own(torch.Tensor):
        pass

    x = torch.ones(2).as_subclass(Own)
    assert type(x + x) is Own and type(torch.exp(x)) is Own and type(x.exp()) is Own
    weight = torch.nn.Parameter(torch.ones(2))
    assert type(weight + weight) is type(torch.exp(weight)) is torch.Tensor
