"""Whether mixed precision on cuda cannot work here."""

from .. import is_available


def amp_definitely_not_available():
    """Whether there is no GPU."""
    return not is_available()
