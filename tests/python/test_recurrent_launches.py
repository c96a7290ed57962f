"""Recurrent layers on a GPU: a step takes one product and one kernel each way (with projected
states two products), what steps share is launched once, and results are those of float64.
"""

import flambeau as torch
import pytest
from flambeau.profiler import profile

CELLS = {
    "LSTM": ("LSTM", {}),
    "LSTM, projected": ("LSTM", {"proj_size": 5}),
    "LSTM, both ways": ("LSTM", {"bidirectional": True}),
    "LSTM, projected both ways": ("LSTM", {"proj_size": 5, "bidirectional": True}),
    "LSTM, two layers": ("LSTM", {"num_layers": 2}),
    "GRU": ("GRU", {}),
    "GRU, both ways": ("GRU", {"bidirectional": True}),
    "RNN of tanh": ("RNN", {}),
    "RNN of ReLU": ("RNN", {"nonlinearity": "relu"}),
}
TOLERANCE = {torch.float32: 2e-6, torch.float16: 1e-2, torch.bfloat16: 8e-2}  # beside the largest
ONCE = 18  # launches of a layer one way, at most, that no step adds to


def passes(layer, x, lengths=None):
    """Results and gradients of a layer and of what it was given, the last states' among them, and
    the names of what each way launched."""
    pack = torch.nn.utils.rnn.pack_padded_sequence
    given = pack(x, torch.tensor(lengths)) if lengths else x
    with profile() as forward:
        y, last = layer(given)
    y = y.data if lengths else y
    results = [y, *(last if isinstance(last, tuple) else (last,))]
    slopes = [torch.linspace(-1, 1, r.numel()).view(r.shape).to(r.device, r.dtype) for r in results]
    wanted = [x, *layer.parameters()]
    with profile() as backward:
        gradients = torch.autograd.grad(results, wanted, slopes)
    names = [[k.name for e in p.events() for k in e.kernels] for p in (forward, backward)]
    return [t.detach() for t in (*results, *gradients)], names


def made(cell, steps, batch=3):
    torch.manual_seed(11)
    name, options = CELLS[cell]
    return getattr(torch.nn, name)(6, 9, **options), torch.randn(steps, batch, 6), options


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("cell", CELLS)
def test_steps_take_two_launches_each_way(cell, dtype, device, request):
    layer, x, options = made(cell, 12)
    layer, x = layer.to(dtype), x.to(dtype)
    exact = type(layer)(6, 9, **options).double()
    exact.load_state_dict({k: v.double() for k, v in layer.state_dict().items()})
    wanted, _ = passes(exact, x.double().requires_grad_())
    layer, x = layer.to(device), x.to(device).requires_grad_()
    found, names = passes(layer, x)
    for ours, ideal in zip(found, wanted, strict=True):
        allowed = TOLERANCE[dtype] * float(ideal.abs().max())
        torch.testing.assert_close(ours.cpu().double(), ideal, rtol=0, atol=allowed)
    again, _ = passes(layer, x)
    assert all(bool((a == b).all()) for a, b in zip(found, again, strict=True))
    if request.config.getoption("--device") != "standin":
        return
    ways = layer.num_layers * (2 if layer.bidirectional else 1)
    a_step = 3 if layer.proj_size else 2
    for launched in names:
        assert launched.count("cublasLtMatmul") >= 12 * ways
        assert len(launched) <= (12 * a_step + ONCE) * ways, launched


@pytest.mark.parametrize("cell", ["LSTM, both ways", "LSTM, projected both ways", "GRU, both ways"])
def test_sequences_of_several_lengths(cell, device):
    layer, x, options = made(cell, 7, batch=4)
    exact = type(layer)(6, 9, **options).double()
    exact.load_state_dict({k: v.double() for k, v in layer.state_dict().items()})
    lengths = [7, 5, 5, 1]
    wanted, _ = passes(exact, x.double().requires_grad_(), lengths)
    found, _ = passes(layer.to(device), x.to(device).requires_grad_(), lengths)
    for ours, ideal in zip(found, wanted, strict=True):
        torch.testing.assert_close(ours.cpu().double(), ideal, rtol=2e-6, atol=2e-6)


def test_more_steps_cost_nothing_but_their_own_launches(device, request):
    if request.config.getoption("--device") != "standin":
        pytest.skip("the stand-in alone says what was launched, and no more")
    counts = []
    for steps in (8, 40):
        layer, x, _ = made("LSTM", steps)
        names = passes(layer.to(device), x.to(device).requires_grad_())[1]
        counts.append([len(n) for n in names])
    assert [b - a for a, b in zip(*counts, strict=True)] == [64, 64]
