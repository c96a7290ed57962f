"""Names that only one of the two libraries has, features left out aside (left_out.py)."""

from __future__ import annotations

from . import differs

differs(
    "(linalg.ldl_factor) (linalg.ldl_factor_ex) (linalg.ldl_solve) "
    "(linalg.matrix_sqrth) (special.airy_ai)",
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
