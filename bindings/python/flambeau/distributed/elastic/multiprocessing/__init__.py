"""Processes of a job on one node: how they start and end, their output and their errors."""

from .api import DefaultLogsSpecs, LogsDest, LogsSpecs, RunProcsResult, SignalException, Std, to_map
from .errors import ProcessFailure

__all__ = ["DefaultLogsSpecs", "LogsDest", "LogsSpecs", "ProcessFailure", "RunProcsResult",
           "SignalException", "Std", "to_map"]  # fmt: skip
