"""What differs from PyTorch, and why it stays so, by kind of difference in the files of `known/`.
`make test-torch` fails on any other difference, and on an entry that no longer differs.

    left_out  features that are not there     names     what a library has no name for
    accepted  calls that only PyTorch refuses refusals  errors of flambeau alone, or of another type
    forms     dtype, shape, strides, memory   numbers   values and gradients
    graph     views, versions, second passes
"""

from __future__ import annotations

import importlib

from .known import KNOWN

for _kind in "accepted", "forms", "graph", "left_out", "names", "numbers", "refusals":
    importlib.import_module(f".known.{_kind}", __package__)

# Rows whose calls only flambeau's own interface has, and where PyTorch's results are compared.
APART = {
    row: where
    for rows, where in (
        (
            "lstm gru rnn_tanh rnn_relu multihead_attention multihead_attention_weights "
            "embedding_bag",
            "tests/python/test_layers_golden.py compares the layer with PyTorch's numbers",
        ),
        ("max_unpool1d max_unpool2d max_unpool3d", "tests/python/test_functions_golden.py"),
        ("slice", "what indexing is made of: the expressions have t[1:], t[::2]"),
        ("rpow", "what powers of a number are made of: the expressions have 2 ** t"),
        ("linear_cross_entropy", "tests/python/test_linear_cross_entropy.py"),
        ("varlen_attn varlen_attn_lse", "tests/ops/test_varlen_attention.py: torch needs a GPU"),
        (
            "cosine_window gaussian_window general_cosine_window exponential_window",
            "tests/python/test_signal.py: torch.signal.windows has them",
        ),
    )
    for row in rows.split()
}


def needs_feature(difference):
    """Whether a call differs because it needs a feature that is left out on purpose."""
    return any(k.feature and k.covers(difference) for k in KNOWN)
