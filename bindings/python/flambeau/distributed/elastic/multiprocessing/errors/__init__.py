"""Failures of processes: `record` writes a function's exception where its launcher finds it, and
ChildFailedError says which ranks failed, the one that began it apart from those that followed."""

import json
import signal
import socket
import time
from dataclasses import dataclass, field
from datetime import datetime
from functools import wraps

from .error_handler import ErrorHandler
from .handlers import get_error_handler

__all__ = ["ChildFailedError", "ErrorHandler", "ProcessFailure", "get_error_handler", "record"]

_NOT_AVAILABLE = "<N/A>"
_HINT = (
    "none was recorded; decorate the program's main function with record of "
    "distributed.elastic.multiprocessing.errors"
)
# What a process raises because another one is gone: never what began it, if there is another.
_FOLLOW = {"PeerLostError", "CollectiveTimeoutError"}


@dataclass
class ProcessFailure:
    """A process that failed: how it ended, and what its error file says where it wrote one."""

    local_rank: int
    pid: int
    exitcode: int  # negative: the signal's number
    error_file: str
    error_file_data: dict = field(init=False)
    message: object = field(init=False)
    timestamp: int = field(init=False)
    host: str = field(init=False, default_factory=socket.gethostname)
    seconds: float = field(init=False)
    follows: bool = field(init=False, default=False)

    def __post_init__(self):
        self.seconds = time.time()
        self.error_file_data, self.message = {"message": "<NONE>"}, None
        try:
            with open(self.error_file) as file:
                data = json.load(file)
            self.message = data["message"]
            self.error_file_data = data
        except (OSError, ValueError, KeyError, TypeError):  # none, or not the handler's
            self.error_file = _NOT_AVAILABLE
        more = self.message.get("extraInfo", {}) if isinstance(self.message, dict) else {}
        self.follows = not _FOLLOW.isdisjoint(more.get("kinds", ()))
        self.seconds = float(more.get("seconds", self.seconds))
        self.timestamp = int(more.get("timestamp", self.seconds))
        if self.message is None:
            self.message = _HINT
            if self.exitcode < 0:
                name = self.signal_name()
                self.message = f"Signal {-self.exitcode} ({name}) received by PID {self.pid}"

    def printed_to(self, path):
        """Tells that the program printed its error, to this file or, if None, where its launcher
        prints: the report then sends there instead of asking for `record`, which a program that is
        no Python lacks."""
        if self.message == _HINT:
            self.message = f"none was recorded; see {path or 'what the rank printed'}"

    def signal_name(self):
        """The signal that ended the process, as SIGKILL."""
        try:
            return signal.Signals(-self.exitcode).name
        except ValueError:
            return _NOT_AVAILABLE

    def timestamp_isoformat(self):
        """When it failed, as 2026-01-31_12:00:00."""
        return datetime.fromtimestamp(self.timestamp).isoformat(sep="_")

    def how(self):
        """How it ended, in words."""
        if self.exitcode < 0:
            return f"was ended by signal {self.signal_name()}"
        return f"exited with code {self.exitcode}"

    def traceback(self):
        """The recorded traceback, else what else is known."""
        if not isinstance(self.message, dict):
            return str(self.message)
        more = self.message.get("extraInfo", {})
        return str(more.get("py_callstack", self.message.get("message", _NOT_AVAILABLE)))


class ChildFailedError(Exception):
    """Processes of a job failed. `failures` has them by rank; `ended` the ranks that the launcher
    ended because of it."""

    def __init__(self, name, failures, ended=()):
        if not failures:
            raise AssertionError("ChildFailedError needs the failures of at least one process")
        self.name, self.failures, self.ended = name, failures, tuple(ended)
        super().__init__(self.format_msg())

    def __reduce__(self):
        return type(self), (self.name, self.failures, self.ended)

    def get_first_failure(self):
        """Rank and failure of the process that began it."""
        rank = min(
            self.failures, key=lambda r: (self.failures[r].follows, self.failures[r].seconds)
        )
        return rank, self.failures[rank]

    def format_msg(self, boarder_delim="=", section_delim="-"):
        """The summary as text."""
        root, first = self.get_first_failure()
        others = {r: f for r, f in sorted(self.failures.items()) if r != root}
        lines = [f"{self.name} FAILED: rank {root} {first.how()}", section_delim * 60]
        if others:
            lines += ["Other failures:", *_briefly(others), section_delim * 60]
        lines += ["Root Cause (first observed failure):", _describe(root, first)]
        if self.ended:
            lines += [section_delim * 60, f"Ended by the launcher after that: {_ranks(self.ended)}"]
        edge = boarder_delim * 60
        return "\n".join(["", edge, *lines, edge])


def _ranks(numbers):
    """`rank 3`, or `ranks 0-2, 5`."""
    numbers = sorted(numbers)
    runs = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    text = ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
    return f"rank {text}" if len(numbers) == 1 else f"ranks {text}"


def _briefly(failures):
    """A line for all that failed alike: most say only that the first one is gone."""
    alike = {}
    for rank, failure in failures.items():
        said = ""
        if isinstance(failure.message, dict):
            said = ": " + failure.traceback().rstrip().rpartition("\n")[2]
        alike.setdefault(failure.how() + said, []).append(rank)
    return [f"  {_ranks(ranks)} {how}" for how, ranks in alike.items()]


def _describe(rank, failure):
    name = f" ({failure.signal_name()})" if failure.exitcode < 0 else ""
    trace = failure.traceback().rstrip().replace("\n", "\n    ")
    return (
        f"[rank{rank}]:\n"
        f"  time      : {failure.timestamp_isoformat()}\n"
        f"  host      : {failure.host}\n"
        f"  rank      : {rank} (local_rank: {failure.local_rank})\n"
        f"  exitcode  : {failure.exitcode}{name} (pid: {failure.pid})\n"
        f"  error_file: {failure.error_file}\n"
        f"  traceback : {trace}"
    )


def record(fn, error_handler=None):
    """`@record` on a program's main function: an exception that leaves it is written to the file
    that TORCHELASTIC_ERROR_FILE names, whence the launcher's summary shows it; it goes on as it
    would without."""
    handler = error_handler or get_error_handler()

    @wraps(fn)
    def wrapper(*args, **kwargs):
        handler.set_entrypoint_fn_name(getattr(fn, "__qualname__", None))
        handler.initialize()
        try:
            result = fn(*args, **kwargs)
        except SystemExit as leaving:
            if leaving.code == 0:
                return None
            raise
        except ChildFailedError as problem:
            _, first = problem.get_first_failure()
            if isinstance(first.message, dict):
                handler.dump_error(first.error_file_data, first.exitcode)
            raise
        except Exception as problem:
            handler.record_exception(problem)
            raise
        handler.record_success()
        return result

    return wrapper
