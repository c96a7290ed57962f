"""Where events go, by name; a program adds handlers of its own to `_log_handlers`, as with
torch."""

import logging

__all__ = ["get_logging_handler"]

_log_handlers = {
    "console": logging.StreamHandler(),
    "dynamic_rendezvous": logging.NullHandler(),
    "null": logging.NullHandler(),
}


def get_logging_handler(destination="null"):
    """The handler of that name."""
    if destination not in _log_handlers:
        raise KeyError(f"{destination!r} is no destination of events: {', '.join(_log_handlers)}")
    return _log_handlers[destination]
