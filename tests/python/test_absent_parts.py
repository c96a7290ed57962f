"""Layers whose parameters, buffers and children a program sets to none, one after another, those of
each constructor that the headers declare: a call then gives a result or an error that names the
layer and the part, and the module prints."""

import numpy as np
import pytest

from tests.harness import binding, ledger
from tests.harness.gen import api
from tests.python.test_engine_layers import LAYERS, engine, inputs

MADE = {f"flam_nn_{spec[0]}" for spec, _, _ in LAYERS.values()}
OF_OPERATIONS = {name for name, row in ledger.functions().items() if row.get("layer_of")}


def names(state):
    return [api.state_name(state, i) for i in range(api.state_size(state))]


def children(module, path=""):
    """Paths of all modules below."""
    for i in range(api.module_child_count(module)):
        name = api.module_child_name(module, i)
        below = f"{path}.{name}" if path else name
        yield below
        yield from children(api.module_child(module, name), below)


def parts(module):
    """Everything that a program can set to none: the call that does, and its path."""
    yield from ((api.module_set_parameter, p) for p in names(api.module_named_parameters(module)))
    yield from ((api.module_set_buffer, p) for p in names(api.module_named_buffers(module)))
    yield from ((api.module_set_child, path) for path in children(module))


def without(case, set_none, path):
    """A layer without that part, and the part's owner."""
    module = engine(LAYERS[case][0])
    where, _, name = path.rpartition(".")
    owner = api.module_child(module, where) if where else module
    set_none(owner, name, None)
    return module, api.module_type(owner), name


def test_every_constructor_is_here():
    made = {name for name in ledger.functions() if name.startswith("flam_nn_")}
    # A sequence is below, a pool's inverse holds nothing, and those of operations are in tests/ops.
    assert made - OF_OPERATIONS - {"flam_nn_sequential", "flam_nn_max_unpool"} <= MADE


@pytest.mark.parametrize("case", LAYERS)
def test_a_layer_without_a_part_tells_so(torch, case):
    whole = api.module_format(engine(LAYERS[case][0]))
    given = inputs(torch, LAYERS[case][2], "cpu")
    for set_none, path in parts(engine(LAYERS[case][0])):
        module, owner, name = without(case, set_none, path)
        text = api.module_format(module)
        assert "None" in text if set_none is api.module_set_child else text[:5] == whole[:5]
        for mode in (True, False):
            api.module_train(module, mode)
            try:
                y = api.module_forward(module, given)
            except ValueError as e:
                assert name in str(e) and owner in str(e), path
            else:
                assert np.isfinite(binding.array(y)).all(), path
                assert set_none is not api.module_set_child or name == "norm", path


@pytest.mark.parametrize(
    "case, set_none, path",
    [
        ("linear", api.module_set_parameter, "weight"),
        ("conv2d", api.module_set_parameter, "weight"),
        ("bilinear", api.module_set_parameter, "weight"),
        ("prelu", api.module_set_parameter, "weight"),
        ("embedding", api.module_set_parameter, "weight"),
        ("lstm", api.module_set_parameter, "weight_ih_l0"),
        ("lstm_cell", api.module_set_parameter, "weight_ih"),
        ("multihead_attention", api.module_set_parameter, "in_proj_weight"),
        ("batch_norm", api.module_set_buffer, "num_batches_tracked"),
        ("transformer", api.module_set_child, "encoder.layers.0.norm1"),
        ("transformer", api.module_set_child, "decoder.layers"),
    ],
)
def test_what_a_layer_needs_is_named(torch, case, set_none, path):
    module, owner, name = without(case, set_none, path)
    with pytest.raises(ValueError, match=f'(?s){owner}.*"{name}"') as caught:
        api.module_forward(module, inputs(torch, LAYERS[case][2], "cpu"))
    where = path.rpartition(".")[0]
    assert not where or f'"{where}" ({owner})' in str(caught.value)


def test_a_sequence_tells_of_a_child_that_is_none(torch):
    net = api.nn_sequential()
    api.module_append(net, api.nn_identity())
    api.module_set_child(net, "0", None)
    assert "(0): None" in api.module_format(net)
    with pytest.raises(ValueError, match='Sequential: child "0" is no module'):
        api.module_forward(net, [torch.zeros(2)])
