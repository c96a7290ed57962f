"""Operations as modules, all those that the headers mark: each is called with the samples of its
row in the op table and gives what the operation gives; it prints its options, moves with its
buffers, has no other state, refuses what its operation refuses with its path in the error, and
leaks nothing."""

import pathlib
import re

import flambeau
import numpy as np
import pytest

from tests.harness import binding, ledger
from tests.harness.cases import SEED, cases
from tests.harness.gen import api
from tests.harness.table import ROWS

for path in sorted(pathlib.Path(__file__).parent.glob("[a-z]*.py")):
    if not path.name.startswith(("test_", "conftest")):
        __import__(path.stem)

LAYERS = {name: row for name, row in ledger.functions().items() if row.get("layer_of")}


def _words(options):
    """torch's words of modes as C has them."""
    return {k: v.replace("-", "_") if k == "mode" else v for k, v in options.items()}


# Rows that call torch's form of an operation: options and operands as C has them.
OPTIONS = {"flam_interpolate": _words}
OPERANDS = {"flam_ctc_loss": lambda logits, *rest: (logits.log_softmax(-1), *rest)}


def operation(layer):
    return ledger.functions()[layer["layer_of"]]


def shown(layer):
    return operation(layer)["layer"]


def arguments(layer, options):
    """Options as the constructor takes them: a number that stands for a list as a list."""
    kinds = {p["name"]: p["kind"] for p in ledger.parameters(layer)}
    given = OPTIONS.get(layer["layer_of"], dict)(options)
    return {
        name: list(np.atleast_1d(value)) if kinds[name] in ("ints", "doubles") else value
        for name, value in given.items()
        if name in kinds
    }


def split(layer, tensors):
    """A sample's tensors: what a call takes, and what is held, by name."""
    operands = [p for p in ledger.parameters(operation(layer)) if p["kind"] == "tensor"]
    taken = [t for p, t in zip(operands, tensors) if not p.get("optional")]
    held = {p["name"]: t for p, t in zip(operands, tensors) if p.get("optional")}
    return taken, held


def trains(layer, options):
    """The mode in which a module does what the operation does with these options."""
    found = [p for p in operation(layer)["options"] if p["name"] == "training"]
    return bool(options.get("training", int(found[0]["default"]))) if found else True


def build(layer, options, held):
    make = getattr(api, layer["function"].removeprefix("flam_"))
    module = make(**arguments(layer, options), **held)
    api.module_train(module, trains(layer, options))
    return module


def some(layer, device):
    """Calls of the operation's row, as the module, what it takes, what it holds, and the result."""
    row = ROWS[layer["layer_of"].removeprefix("flam_")]
    for case in cases(row, row.dtypes[0]):
        given = OPERANDS.get(layer["layer_of"], lambda *tensors: tensors)(*case.on(device))
        taken, held = split(layer, given)
        yield case, build(layer, case.options, held), taken, held


@pytest.mark.parametrize("name", LAYERS)
def test_a_module_does_what_its_operation_does(name, device):
    layer, seen = LAYERS[name], 0
    for case, module, taken, held in some(layer, device):
        flambeau.manual_seed(SEED)
        y = api.module_forward(module, taken)
        wanted = case.call(case.on(device), device)
        wanted = wanted[0] if isinstance(wanted, tuple) else wanted
        assert y.dtype == wanted.dtype and y.shape == wanted.shape, case.what
        np.testing.assert_array_equal(binding.array(y), binding.array(wanted), case.what)
        state = api.module_state_dict(module)
        assert {api.state_name(state, i) for i in range(api.state_size(state))} == set(held)
        seen += 1
    assert seen


@pytest.mark.parametrize("name", LAYERS)
def test_a_module_prints_its_class_and_options(name, device):
    layer = LAYERS[name]
    kind, options = re.fullmatch(r"(\w+)\((.*)\)", shown(layer)).groups()
    pattern = re.escape(kind + "(")
    for i, part in enumerate(re.split(r"\[(.*?)\]", options)):
        if i % 2 == 0:
            pattern += re.escape(part)
            continue
        names = part.split(" or ")
        labels = "|".join(n for n in names if n.endswith("="))
        pattern += f"(?:{labels})[^=]+"
    for _, module, _, _ in some(layer, device):
        assert re.fullmatch(pattern + r"\)", api.module_format(module)), api.module_format(module)


@pytest.mark.parametrize("name", LAYERS)
def test_an_error_names_the_module(name, device):
    layer = LAYERS[name]
    _, module, taken, _ = next(some(layer, device))
    outer, inner = api.nn_sequential(), api.nn_sequential()
    api.module_append(inner, module)
    api.module_append(outer, inner)
    kind = shown(layer).split("(")[0]
    with pytest.raises(RuntimeError) as caught:
        api.module_forward(module, [*taken, taken[0]])
    assert f'"0.0" ({kind})' in str(caught.value) and f"{kind} takes" in str(caught.value)
    with pytest.raises(ValueError, match=f"{kind}: \\w+ is no tensor"):
        api.module_forward(module, [*taken[:-1], None])
    if not ROWS[layer["layer_of"].removeprefix("flam_")].bad.get("bool"):
        return
    strange = [t.to(flambeau.bool) if t.is_floating_point() else t for t in taken]
    with pytest.raises(RuntimeError) as caught:
        api.module_forward(module, strange)
    assert f'"0.0" ({kind})' in str(caught.value)


@pytest.mark.parametrize("name", LAYERS)
def test_a_module_moves_with_what_it_holds(name, device):
    for case, module, taken, held in some(LAYERS[name], "cpu"):
        api.module_to(module, device=device)
        for buffer in held:
            assert (
                api.module_buffer(module, buffer).device == flambeau.zeros(1, device=device).device
            )
        y = api.module_forward(module, [t.to(device) for t in taken])
        assert y.device == flambeau.zeros(1, device=device).device, case.what
        break


@pytest.mark.parametrize("name", LAYERS)
def test_what_a_module_holds_may_be_none(name, device):
    """A buffer that a program sets to none is an operand that the operation is not given."""
    for _, module, taken, held in some(LAYERS[name], device):
        for buffer in held:
            api.module_set_buffer(module, buffer, None)
        if not held:
            continue
        try:
            y = api.module_forward(module, taken)
        except ValueError as e:
            assert shown(LAYERS[name]).split("(")[0] in str(e)
        else:
            assert np.isfinite(binding.array(y)).all()


@pytest.mark.parametrize("name", LAYERS)
def test_options_out_of_their_range_are_refused_at_once(name):
    layer = LAYERS[name]
    needed = next(some(layer, "cpu"))[0].options
    ranged = [p for p in ledger.parameters(layer) if p.get("range")]
    for p in ranged:
        low, high = (float(x) for x in p["range"][1:-1].split(", "))
        for bad in (low - 1, high + 1):
            if np.isfinite(bad) and p["kind"] in ("int", "double"):
                value = int(bad) if p["kind"] == "int" else bad
                with pytest.raises(ValueError, match=p["name"]):
                    build(layer, {**needed, p["name"]: value}, {})


def test_there_are_layers_of_every_family():
    assert {"flam_nn_relu", "flam_nn_max_pool2d", "flam_nn_cross_entropy_loss"} < LAYERS.keys()
    assert len(LAYERS) > 70
