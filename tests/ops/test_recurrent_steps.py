"""Sequences of recurrent layers, whose steps read their weights in strips, against their cells step
by step: sizes that strips divide, leave a rest of and do not fit, more rows than are projected at
once, packed sequences both ways, and the gradient that walks by kernels against the one that is
written in operations.
"""

import flambeau as torch
import numpy as np
import pytest

CELLS = {"LSTM": torch.nn.LSTMCell, "GRU": torch.nn.GRUCell, "RNN": torch.nn.RNNCell}
CLOSE = {torch.float32: 2e-5, torch.float64: 1e-12}


def by_cells(layer, kind, x, lengths):
    """Outputs [n, length, features] of sequences, zeros behind their ends."""
    cells = []
    for suffix in ("", "_reverse")[: 1 + layer.bidirectional]:
        cell = CELLS[kind](layer.input_size, layer.hidden_size)
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            delattr(cell, name)
            setattr(cell, name, getattr(layer, f"{name}_l0{suffix}"))
        cells.append(cell)
    rows = []
    for n, length in enumerate(lengths):
        sides = []
        for direction, cell in enumerate(cells):
            state, made = None, [None] * length
            for t in range(length)[:: -1 if direction else 1]:
                state = cell(x[n, t : t + 1], state)
                made[t] = state[0] if kind == "LSTM" else state
            sides.append(torch.cat(made, 0))
        row = torch.cat(sides, 1)
        rest = torch.zeros(x.shape[1] - length, row.shape[1], dtype=x.dtype, device=x.device)
        rows.append(torch.cat([row, rest], 0))
    return torch.stack(rows, 0)


@pytest.mark.parametrize("dtype", CLOSE, ids=str)
@pytest.mark.parametrize("hidden", [24, 32, 48])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize(
    "features,lengths", [(5, (6, 6, 6)), (5, (7, 4, 4, 2)), (300, (50, 50, 37))], ids=str
)
@pytest.mark.parametrize("kind", CELLS)
def test_steps(kind, features, lengths, bidirectional, hidden, dtype, device):
    torch.manual_seed(7)
    layer = getattr(torch.nn, kind)(features, hidden, batch_first=True, bidirectional=bidirectional)
    layer = layer.to(dtype).to(device)
    x = torch.randn(len(lengths), max(lengths), features).to(dtype).to(device).requires_grad_()
    utils = torch.nn.utils.rnn
    packed = utils.pack_padded_sequence(x, torch.tensor(lengths), batch_first=True)
    y, last = layer(packed)
    y = utils.pad_packed_sequence(y, batch_first=True)[0]
    want = by_cells(layer, kind, x, lengths)
    close = CLOSE[dtype]
    assert np.allclose(*(t.detach().cpu().numpy() for t in (y, want)), close, close)
    h = last[0] if kind == "LSTM" else last
    ends = torch.stack([want[n, k - 1, :hidden] for n, k in enumerate(lengths)], 0)
    assert np.allclose(*(t.detach().cpu().numpy() for t in (h[0], ends)), close, close)

    leaves, slope = [x, *layer.parameters()], torch.randn(*y.shape).to(dtype).to(device)
    plain = torch.autograd.grad(y, leaves, slope, retain_graph=True)
    again = torch.autograd.grad(y, leaves, slope, create_graph=True)
    cells = torch.autograd.grad(want, leaves, slope)
    for name, got, written, expected in zip(["x", *layer._parameters], plain, again, cells):
        size = expected.abs().max().item()
        for g in (got, written):
            apart = (g.detach() - expected).abs().max().item()
            assert apart <= 4 * close * size, name


@pytest.mark.parametrize("kind", CELLS)
def test_there_may_be_no_sequence(kind, device):
    layer = getattr(torch.nn, kind)(4, 32).to(device)
    y, last = layer(torch.zeros(5, 0, 4).to(device))
    y.sum().backward()
    assert y.shape == (5, 0, 32) and (last[0] if kind == "LSTM" else last).shape == (1, 0, 32)
    assert all((p.grad == 0).all() for p in layer.parameters())


def test_an_output_may_be_changed(device):
    layer, x = torch.nn.GRU(4, 8).to(device), torch.randn(5, 2, 4).to(device)
    y, _ = layer(x)
    slope = torch.ones_like(y)
    kept = torch.autograd.grad(y, layer.weight_hh_l0, slope, retain_graph=True)[0]
    z, _ = layer(x)
    z.mul_(2.0)  # as in torch, where it is no part of what the gradient reads
    changed = torch.autograd.grad(z, layer.weight_hh_l0, slope)[0]
    assert np.allclose(changed.cpu().numpy(), 2 * kept.cpu().numpy(), 1e-5, 1e-6)


@pytest.mark.parametrize("name", ["lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell"])
def test_cells_take_biases_that_go_with_their_rows(name, device):
    torch.manual_seed(7)
    gates = {"lstm": 4, "gru": 3}.get(name.split("_")[0], 1) * 6
    x, h, c = (torch.randn(3, n).to(device).requires_grad_() for n in (5, 6, 6))
    weights = [torch.randn(gates, n).to(device).requires_grad_() for n in (5, 6)]
    row = torch.randn(gates).to(device)
    state = [h, c] if name == "lstm_cell" else h

    def run(*biases):
        own = biases[0].clone().requires_grad_()
        y = getattr(torch, name)(x, state, *weights, own, biases[1])
        y = torch.cat(y, 1) if name == "lstm_cell" else y
        *slopes, of_bias = torch.autograd.grad((y * y).sum(), [x, h, *weights, own])
        assert of_bias.shape == own.shape
        return [y, *slopes, of_bias.reshape(-1, gates).sum(0)]

    alike = [run(row, row), run(row.expand(3, gates), row), run(row, row.reshape(1, gates))]
    for other in alike[1:]:
        for got, expected in zip(other, alike[0]):
            torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-5)
    if name.startswith("rnn"):
        whole = [torch.ones(*sizes, dtype=torch.int64).to(device) for sizes in ((2, 3), (2, 4))]
        w = [torch.ones(4, n, dtype=torch.int64).to(device) for n in (3, 4)]
        y = getattr(torch, name)(*whole, *w)
        assert y.tolist() == [[7] * 4] * 2 if "relu" in name else y.dtype == torch.float32
