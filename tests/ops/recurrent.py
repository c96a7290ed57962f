"""Recurrent layers, over whole sequences and step by step."""

import flambeau
import numpy as np
from scipy import special

from tests.harness.gen import api
from tests.harness.table import op, x

KW = dict(elementwise=False, ulp=8, atol={"float16": 2e-2, "bfloat16": 0.15})
GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


def step(kind, a, states, w_ih, w_hh, b_ih=0.0, b_hh=0.0, w_hr=None):
    """The new states."""
    new, old = a @ w_ih.T + b_ih, states[0] @ w_hh.T + b_hh
    if kind == "rnn_tanh":
        return [np.tanh(new + old)]
    if kind == "rnn_relu":
        return [np.maximum(new + old, 0)]
    if kind == "gru":
        (xr, xz, xn), (hr, hz, hn) = (np.split(t, 3, -1) for t in (new, old))
        z = special.expit(xz + hz)
        return [(1 - z) * np.tanh(xn + special.expit(xr + hr) * hn) + z * states[0]]
    i, f, g, o = np.split(new + old, 4, -1)
    cell = special.expit(f) * states[1] + special.expit(i) * np.tanh(g)
    h = special.expit(o) * np.tanh(cell)
    return [h if w_hr is None else h @ w_hr.T, cell]


def one_way(kind, sequence, states, weights, reverse):
    """The outputs of one sequence, and its last states."""
    outputs = []
    for a in sequence[::-1] if reverse else sequence:
        states = step(kind, a, states, *weights)
        outputs.append(states[0])
    return np.stack(outputs[::-1] if reverse else outputs), states


def layers(kind, sequences, hx, params, num_layers, bidirectional, dropped):
    """Outputs by sequence, and last states [layers * directions, n, ...]."""
    directions = 2 if bidirectional else 1
    each = len(params) // (num_layers * directions)
    last = [np.zeros_like(s) for s in hx]
    for layer in range(num_layers):
        sides = []
        for d in range(directions):
            at = layer * directions + d
            weights = params[at * each : (at + 1) * each]
            if each == 3:
                weights = [*weights[:2], 0.0, 0.0, weights[2]]
            side = []
            for b, sequence in enumerate(sequences):
                y, states = one_way(kind, sequence, [s[at, b] for s in hx], weights, d == 1)
                side.append(y)
                for s, value in zip(last, states):
                    s[at, b] = value
            sides.append(side)
        sequences = [np.concatenate(parts, -1) for parts in zip(*sides)]
        if dropped and layer + 1 < num_layers:
            sequences = [np.zeros_like(s) for s in sequences]
    return sequences, last


def packed_rows(batch_sizes):
    """The rows of each sequence in a packed input."""
    starts = np.cumsum([0, *batch_sizes])
    return [
        [starts[t] + b for t, n in enumerate(batch_sizes) if n > b] for b in range(batch_sizes[0])
    ]


def recurrent(
    kind,
    a,
    *rest,
    has_biases=True,
    num_layers=1,
    bidirectional=False,
    batch_first=False,
    batch_sizes=None,
    dropout=0.0,
    train=False,
):
    count = 2 if kind == "lstm" else 1
    hx, params = rest[:count], rest[count:]
    options = (num_layers, bidirectional, train and dropout == 1.0)
    if batch_sizes:
        rows = packed_rows(batch_sizes)
        found, last = layers(kind, [a[r] for r in rows], hx, params, *options)
        y = np.zeros((len(a), found[0].shape[1]))
        for r, values in zip(rows, found):
            y[r] = values
        return [y, *last]
    if a.ndim == 2:
        y, last = layers(kind, [a], [s[:, None] for s in hx], params, *options)
        return [y[0], *[s[:, 0] for s in last]]
    axis = 0 if batch_first else 1
    sequences = [np.take(a, b, axis) for b in range(a.shape[axis])]
    y, last = layers(kind, sequences, hx, params, *options)
    return [np.stack(y, axis), *last]


def arranged(kind):
    def arrange(f, a, *rest, batch_sizes=None, **options):
        sizes = batch_sizes and flambeau.tensor(batch_sizes)
        if kind == "lstm":
            return f(a, rest[:2], rest[2:], batch_sizes=sizes, **options)
        return f(a, rest[0], rest[1:], batch_sizes=sizes, **options)

    return arrange


def weights(gates, features, hidden, biases=True, projected=None):
    state = projected or hidden
    return (
        x(gates * hidden, features, low=-1.0, high=1.0),
        x(gates * hidden, state, low=-1.0, high=1.0),
        *((x(gates * hidden), x(gates * hidden)) if biases else ()),
        *((x(projected, hidden),) if projected else ()),
    )


def samples_of(kind, gates):
    """Pairs of operands and options: one layer, then all that a layer can be."""
    count = 2 if kind == "lstm" else 1

    def states(*shape):
        return (x(*shape),) * count

    two = (*weights(gates, 2, 3), *weights(gates, 3, 3))
    both = (*weights(gates, 2, 3), *weights(gates, 2, 3))
    deep = (*both, *weights(gates, 6, 3), *weights(gates, 6, 3))
    found = [
        ((x(3, 2, 2), *states(1, 2, 3), *weights(gates, 2, 3)), {}),
        ((x(3, 2), *states(1, 3), *weights(gates, 2, 3)), {}),
        ((x(3, 2, 2), *states(1, 2, 3), *weights(gates, 2, 3, False)), dict(has_biases=False)),
        ((x(2, 3, 2), *states(1, 2, 3), *weights(gates, 2, 3)), dict(batch_first=True)),
        ((x(1, 2, 2), *states(2, 2, 3), *two), dict(num_layers=2)),
        ((x(2, 2, 2), *states(2, 2, 3), *two), dict(num_layers=2, dropout=1.0, train=True)),
        ((x(2, 2, 2), *states(2, 2, 3), *two), dict(num_layers=2, dropout=1.0)),
        ((x(3, 1, 2), *states(2, 1, 3), *both), dict(bidirectional=True)),
        ((x(2, 2, 2), *states(4, 2, 3), *deep), dict(num_layers=2, bidirectional=True)),
        ((x(6, 2), *states(2, 3, 3), *both), dict(bidirectional=True, batch_sizes=(3, 2, 1))),
    ]
    if kind == "lstm":
        state = (x(1, 2, 2), x(1, 2, 3))
        found += [
            ((x(3, 2, 2), *state, *weights(4, 2, 3, projected=2)), {}),
            ((x(3, 2, 2), *state, *weights(4, 2, 3, False, 2)), dict(has_biases=False)),
        ]
    return found


for kind, gates in GATES.items():
    first, *others = samples_of(kind, gates)
    count = 2 if kind == "lstm" else 1
    states = (x(1, 2, 3),) * count
    plain = weights(gates, 2, 3)
    op(
        kind,
        ref=lambda *ts, kind=kind, **o: recurrent(kind, *ts, **o),
        call=getattr(api, kind),
        arrange=arranged(kind),
        samples=[first[0]],
        pairs=others,
        big=[(x(5, 300, 20), *(x(1, 300, 30),) * count, *weights(gates, 20, 30))],
        refuses=[
            (
                (x(3, 2, 2), *(x(2, 2, 3),) * count, *plain),
                dict(num_layers=2),
                "parameters for 2 layers",
            ),
            ((x(3, 2, 3), *states, *plain), {}, "input_size"),
            ((x(3, 4, 2), *states, *plain), {}, "hidden size"),
            ((x(0, 2, 2), *states, *plain), {}, "larger than 0"),
            ((x(3), *states, *plain), {}, "2D or 3D"),
            ((x(4, 2), *states, *plain), dict(batch_sizes=(2, 1)), "packed input"),
            ((x(4, 2), *states, *plain), dict(batch_sizes=(1, 3)), "not increase"),
        ],
        second=kind != "rnn_relu",
        **KW,
    )


def cell(kind, a, *rest):
    count = 2 if kind == "lstm" else 1
    found = step(kind, a, rest[:count], *rest[count:])
    return found if kind == "lstm" else found[0]


def cell_arranged(kind):
    if kind != "lstm":
        return None
    return lambda f, a, h, c, *rest: f(a, (h, c), *rest)


for kind, gates in GATES.items():
    count = 2 if kind == "lstm" else 1
    states = (x(2, 3),) * count
    op(
        kind + "_cell",
        ref=lambda *ts, kind=kind: cell(kind, *ts),
        call=getattr(api, kind + "_cell"),
        arrange=cell_arranged(kind),
        samples=[
            (x(2, 2), *states, *weights(gates, 2, 3)),
            (x(2, 2), *states, *weights(gates, 2, 3, False)),
        ],
        big=[(x(900, 20), *(x(900, 30),) * count, *weights(gates, 20, 30))],
        refuses=[
            ((x(2, 3), *states, *weights(gates, 2, 3)), {}, "input_size"),
            ((x(3, 2), *states, *weights(gates, 2, 3)), {}, "doesn't match hidden0 batch size 2"),
            ((x(2, 2), *states, *weights(gates, 2, 4)), {}, "hidden0 has inconsistent hidden_size"),
        ],
        second=kind != "rnn_relu",
        **KW,
    )
