"""Functions of torch as values: an attribute of a class, which binds none of them, and in a pickle,
where each is its name. Every function of the namespaces is walked."""

import copy
import inspect
import pickle
import pydoc
import types

import flambeau as torch
import flambeau.nn.functional as F
import pytest

SPACES = {"torch": torch, "linalg": torch.linalg, "special": torch.special, "F": F}


def functions():
    for space, module in SPACES.items():
        for name, value in sorted(vars(module).items()):
            plain = not name.startswith("_") and callable(value)
            if plain and not isinstance(value, (type, types.ModuleType)):
                if getattr(value, "__module__", "").startswith("flambeau"):
                    yield f"{space}.{name}", value


ALL = dict(functions())


def test_there_are_many():
    assert len(ALL) > 700


@pytest.mark.parametrize("name", ALL)
def test_a_class_binds_no_function(name):
    function = ALL[name]
    holder = type("Holder", (), {"function": function})
    assert holder.function is function
    assert holder().function is function, "as an attribute of a class it became a method"


@pytest.mark.parametrize("name", ALL)
def test_pickles_and_copies_are_the_function(name):
    function = ALL[name]
    for protocol in range(2, 6):
        assert pickle.loads(pickle.dumps(function, protocol)) is function
    assert copy.deepcopy(function) is function and copy.copy(function) is function


@pytest.mark.parametrize("name", ALL)
def test_it_says_what_it_is(name):
    function = ALL[name]
    assert function.__name__ == name.rpartition(".")[2] or function.__name__ in name
    assert function.__doc__ is None or "partial(" not in function.__doc__
    inspect.signature(function)
    assert "partial" not in repr(function)
    help_text = pydoc.render_doc(function, renderer=pydoc.plaintext)
    assert "partial" not in help_text.replace(function.__doc__ or "", "")


def test_as_a_module_uses_them():
    class Layer(torch.nn.Module):
        activation = torch.tanh

        def __init__(self):
            super().__init__()
            self.last = F.softsign

        def forward(self, x):
            return self.last(self.activation(x))

    x = torch.rand(3)
    layer = copy.deepcopy(Layer())
    assert torch.equal(layer(x), F.softsign(torch.tanh(x)))
    assert layer.last is F.softsign
