"""Apple's GPUs: flambeau has no such device. Programs that choose among devices ask here."""


def is_built():
    """Whether the library was built with MPS: never."""
    return False


def is_available():
    """Whether an MPS device can be used: never."""
    return False
