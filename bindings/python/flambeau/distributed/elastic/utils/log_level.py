"""The level of loggers that LOGLEVEL does not set."""

__all__ = ["get_log_level"]


def get_log_level():
    """The level's name."""
    return "WARNING"
