"""PyTorch's warning for the spellings of one kind of device."""

import warnings


def deprecated(spelling, instead):
    """Warns at the line that used it."""
    warnings.warn(
        f"`{spelling}` is deprecated. Please use `{instead}` instead.", FutureWarning, stacklevel=3
    )
