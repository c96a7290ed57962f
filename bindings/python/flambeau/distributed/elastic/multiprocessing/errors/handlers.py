"""Which handler records errors."""

from .error_handler import ErrorHandler

__all__ = ["get_error_handler"]


def get_error_handler():
    """The handler that `record` uses unless it is given one."""
    return ErrorHandler()
