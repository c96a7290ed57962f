"""Orthogonal polynomials."""

import numpy as np
from scipy import special

from tests.harness.table import op, unit, x


def third(n, a):
    return np.cos((n + 0.5) * np.arccos(a)) / np.cos(np.arccos(a) / 2)


def fourth(n, a):
    return np.sin((n + 0.5) * np.arccos(a)) / np.sin(np.arccos(a) / 2)


DEGREES = x(3, 4, values=(0.0, 1.0, 2.0, 3.0, 5.0, 12.0), grad=False)
for name, ref in [
    ("chebyshev_polynomial_t", special.eval_chebyt),
    ("chebyshev_polynomial_u", special.eval_chebyu),
    ("chebyshev_polynomial_v", third),
    ("chebyshev_polynomial_w", fourth),
    ("hermite_polynomial_h", lambda n, a: special.eval_hermite(n.astype(int), a)),
    ("hermite_polynomial_he", lambda n, a: special.eval_hermitenorm(n.astype(int), a)),
    ("laguerre_polynomial_l", special.eval_laguerre),
    ("legendre_polynomial_p", special.eval_legendre),
]:
    rules = dict(dtypes=("float32", "float64"), grad=False, ulp=256, atol=1e-11)
    inside = unit(3, 4, grad=False)
    op(name, ref=lambda a, n, f=ref: f(n, a), samples=[(inside, DEGREES)], **rules)
    if name.startswith("chebyshev"):
        op(
            "shifted_" + name,
            ref=lambda a, n, f=ref: f(n, 2 * a - 1),
            samples=[(unit(3, 4, low=0.05, grad=False), DEGREES)],
            **rules,
        )
