"""opt_einsum: flambeau's `einsum` contracts from left to right. Programs ask here."""


def is_available():
    """Whether it is used: never."""
    return False
