"""Intel's MKL: flambeau multiplies with its own kernels. Programs ask here."""


def is_available():
    """Whether it is used: never."""
    return False
