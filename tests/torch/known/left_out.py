"""Features that are left out on purpose, and say so when they are asked for."""

from __future__ import annotations

from . import lacks

COMPLEX = "there are no complex numbers"
SPARSE = "there are no sparse tensors"

lacks(
    "(cdouble) (cfloat) (chalf) (complex) (polar) (linalg.polar) (stft) (view_as_complex)",
    "name",
    "",
    COMPLEX,
)
lacks("(to_sparse)", "name", "", SPARSE)
lacks("(linalg.eig) (linalg.eigvals)", "only flambeau raises", "complex", COMPLEX)
lacks("(masked_fill)", "error type", "1j", COMPLEX)
lacks("(hash_tensor)", "name", "", "there are no unsigned integers of 64 bits")
