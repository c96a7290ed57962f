"""Features that are left out on purpose, and say so when they are asked for."""

from __future__ import annotations

from . import lacks

COMPLEX = "complex numbers have arithmetic, and neither factorizations nor transforms"
SPARSE = "there are no sparse tensors"

lacks("(linalg.polar) (stft)", "name", "", COMPLEX)
lacks("(chalf)", "name", "", "there are no complex numbers of 32 bits")
lacks("(to_sparse)", "name", "", SPARSE)
lacks("(linalg.eig) (linalg.eigvals)", "only flambeau raises", "complex", COMPLEX)
lacks("(hash_tensor)", "name", "", "there are no unsigned integers of 64 bits")
