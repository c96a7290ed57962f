"""OpenMP: flambeau has a pool of its own. Programs ask here."""


def is_available():
    """Whether it is used: never."""
    return False
