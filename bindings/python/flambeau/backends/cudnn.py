"""cuDNN's switches. `deterministic` and `benchmark` are plain settings: results are repeatable
either way."""

from .._on_demand import during as _during

enabled = True
benchmark = False
deterministic = False
allow_tf32 = True
benchmark_limit = 10
fp32_precision = "none"


def is_available():
    """Whether convolutions use cuDNN: no, they are flambeau's own on every device."""
    return False


def version():
    """The version of cuDNN in use: None."""
    return None


def flags(
    enabled=False,
    benchmark=False,
    benchmark_limit=10,
    deterministic=False,
    allow_tf32=True,
    fp32_precision="none",
):
    """Sets all of the switches for a `with` block or a function."""
    return _during(globals(), **locals())
