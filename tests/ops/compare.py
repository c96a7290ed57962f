"""Comparisons."""

import numpy as np

from tests.harness.table import ALL, always, op, x

PAIR = [
    (x(3, 4), x(3, 4)),
    (x(2, 3), x(3)),
    (x(4, values=(0.0, np.nan, np.inf, 1.0)), x(4, values=(0.0, np.nan, np.inf, 2.0))),
]
FINITE = PAIR[:2]

for name, ref in [
    ("eq", np.equal),
    ("ne", np.not_equal),
    ("lt", np.less),
    ("le", np.less_equal),
    ("gt", np.greater),
    ("ge", np.greater_equal),
]:
    op(name, ref=ref, samples=FINITE, dtypes=ALL, result=always("bool"), grad=False)

CLOSE = [(x(4, values=(1.0, 2.0, np.nan, np.inf)), x(4, values=(1.0 + 1e-9, 2.5, np.nan, np.inf)))]
TOLERANCES = [dict(rtol=0.5), dict(atol=1.0), dict(equal_nan=True)]
op(
    "isclose",
    ref=np.isclose,
    samples=FINITE + CLOSE,
    options=TOLERANCES,
    dtypes=("float64",),
    result=always("bool"),
    grad=False,
)
op(
    "allclose",
    ref=lambda a, b, **o: bool(np.allclose(a, b, **o)),
    samples=FINITE + CLOSE,
    options=TOLERANCES,
    dtypes=("float64",),
    grad=False,
)
op(
    "equal",
    ref=lambda a, b: a.shape == b.shape and bool((a == b).all()),
    samples=FINITE,
    dtypes=ALL,
    grad=False,
)
