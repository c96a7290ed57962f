"""Loggers whose level is LOGLEVEL's, else WARNING."""

import logging
import os
import sys

from .log_level import get_log_level

__all__ = ["get_logger"]


def get_logger(name=None):
    """The logger of that name, or of the module that calls."""
    logger = logging.getLogger(name or sys._getframe(1).f_globals.get("__name__"))
    logger.setLevel(os.environ.get("LOGLEVEL", get_log_level()))
    return logger
