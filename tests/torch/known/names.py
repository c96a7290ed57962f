"""Names that only one of the two libraries has, features left out aside (left_out.py)."""

from __future__ import annotations

from . import differs

differs(
    "(linalg.ldl_factor) (linalg.ldl_factor_ex) (linalg.ldl_solve) (linalg.matrix_sqrth)",
    "name",
    "",
    "not there: no program has been seen to use it",
)
differs(
    "*",
    "name",
    r"^PyTorch has no torch\.\S+_$",
    "the generator derives the function form of every in-place method, PyTorch of some",
)
differs(
    "*",
    "name",
    r"^flambeau has no torch\.special\.\S+_$",
    "nor has PyTorch; the header derives the name",
)
differs(
    "(names)",
    "only flambeau raises",
    "AttributeError",
    "a layer for text of old, the private name of segment_reduce, what torch deprecated, and a "
    "rendezvous of several ranks, of which there is one",
)
for _words, _why in (
    (
        r"Tensor\.(requires_grad_ has no mode|to has no other)|threads has no num$",
        "PyTorch's stub files say so, its parsers take no such name",
    ),
    (r"has no out_dtype$", "of GPUs alone in PyTorch"),
    (r"(rand\w*_like|rrelu_?) has no generator$", "they draw from the device's own generator"),
    (
        r"Tensor\.(copy_|resize_|resize_as_|sum_to_size) has no ",
        "taken by its place alone, as programs give it",
    ),
    (
        r"torch\.(result_type|lu_solve|triangular_solve|embedding_renorm_) has no ",
        "taken by its place alone, as programs give it",
    ),
    (r"Tensor\.(expand|new|record_stream) has no ", "taken by its place alone"),
    (r"(lstm|gru|rnn_\w+) has no data$", "of packed sequences, which nn.LSTM and its like take"),
    (r"tri[lu]_indices has no requires_grad$", "places have no gradient"),
):
    differs("(words)", "name", _words, _why)
differs(
    "(defaults)",
    "value",
    r"_with_indices has return_indices=True",
    "its name says so; PyTorch's returns both whatever the flag is",
)
