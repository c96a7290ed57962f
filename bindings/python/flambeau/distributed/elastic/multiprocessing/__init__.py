"""Processes of a job on one node: how they start and end, their output and their errors."""

from ._context import MultiprocessContext, PContext, SubprocessContext, start_processes
from .api import DefaultLogsSpecs, LogsDest, LogsSpecs, RunProcsResult, SignalException, Std, to_map
from .errors import ProcessFailure

__all__ = ["DefaultLogsSpecs", "LogsDest", "LogsSpecs", "MultiprocessContext", "PContext",
           "ProcessFailure", "RunProcsResult", "SignalException", "Std", "SubprocessContext",
           "start_processes", "to_map"]  # fmt: skip
