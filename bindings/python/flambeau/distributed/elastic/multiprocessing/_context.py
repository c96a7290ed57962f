"""`start_processes`: functions or programs as processes of this one, whose results and failures are
kept by local rank. The first failure ends all others. They end with this process, too, and what
tells it to end raises SignalException on the main thread until they have."""

import shutil
import signal
import time

from ...._errors import UnsupportedError
from ....multiprocessing._job import job_key
from ._begin import begin
from ._keeper import Keeper
from ._signals import Raising
from ._streams import Streams
from ._workers import Workers
from .api import RunProcsResult
from .errors import ProcessFailure

__all__ = ["MultiprocessContext", "PContext", "SubprocessContext", "start_processes"]


def _refuse(what, numa_options):
    if numa_options is not None:
        raise UnsupportedError(f"{what}: numa_options are unsupported: use numactl")


def _check_ranks(given, count, what):
    missing = sorted(set(range(count)) - set(given))
    if missing or len(given) != count:
        raise RuntimeError(
            f"{what}, local rank mapping mismatch, expected local ranks 0 to {count - 1}, but got "
            f"{sorted(given)}"
        )


class PContext:
    """Running processes, which `wait` waits for and `close` ends."""

    _start_method = "spawn"

    def __init__(self, name, entrypoint, args, envs, logs_specs, log_line_prefixes=None,
                 duplicate_stdout_filters=None, duplicate_stderr_filters=None):  # fmt: skip
        self._signals = Raising()
        self.name, self._entrypoint = name, entrypoint
        self._filters = duplicate_stdout_filters, duplicate_stderr_filters
        envs = {rank: {"FLAMBEAU_JOB_KEY": job_key(), **env} for rank, env in envs.items()}
        self._args, self._envs, self._result = args, envs, None
        self._logs = logs_specs.reify(envs)
        self._temporary = getattr(logs_specs, "temporary", None)
        self._prefixes = {rank: f"[{name}{rank}]:" for rank in envs} | (log_line_prefixes or {})
        self._keeper, self._streams = Keeper(), Streams()
        self._workers = Workers(self._keeper)
        if self._temporary:
            self._keeper.folder(self._temporary)

    def start(self):
        """Starts them."""
        self._signals.take()
        with self._signals.held():
            begin(self._workers, self._streams, self._logs, self._entrypoint, self._args,
                  self._envs, self._prefixes, self._filters, self._start_method)  # fmt: skip

    def pids(self):
        """Their process ids, by local rank."""
        return dict(self._workers.pids)

    def wait(self, timeout=-1, period=1):
        """How they ended, once all have succeeded or one has failed, which closes; None where
        neither happens within `timeout` seconds. 0 looks once, a negative number waits for ever."""
        deadline = None if timeout < 0 else time.monotonic() + timeout
        while self._result is None:
            with self._signals.held():
                self._workers.collect()
            self._result = self._found()
            left = period if deadline is None else deadline - time.monotonic()
            if self._result is None and left <= 0:
                return None
            if self._result is None:
                self._workers.wait(min(left, period))
        return self._result

    def _found(self):
        workers, logs = self._workers, self._logs
        failures = {
            rank: ProcessFailure(rank, workers.pids[rank], code, logs.error_files[rank])
            for rank, code in workers.exit_codes.items()
            if code != 0
        }
        if workers.running and not failures:
            return None
        values = {} if failures else dict(workers.values)
        for failure in failures.values() if self._temporary else ():
            failure.error_file = "<N/A>"  # it goes with the folder
        self.close()
        return RunProcsResult(values, failures, dict(logs.stdouts), dict(logs.stderrs))

    def close(self, death_sig=None, timeout=30):
        """Ends what runs, by SIGTERM or the signal given, and after `timeout` seconds by
        SIGKILL."""
        if self._keeper is None:
            return
        keeper, self._keeper = self._keeper, None
        try:
            self._workers.stop(signal.SIGTERM if death_sig is None else death_sig, timeout)
        finally:  # a signal is impatience: the keeper ends what is left
            self._signals.give_back()
            keeper.close()
            self._streams.close()
            if self._temporary:
                shutil.rmtree(self._temporary, ignore_errors=True)


class MultiprocessContext(PContext):
    """Processes of a function."""

    def __init__(self, name, entrypoint, args, envs, start_method, logs_specs,
                 log_line_prefixes=None, numa_options=None, duplicate_stdout_filters=None,
                 duplicate_stderr_filters=None):  # fmt: skip
        _refuse("MultiprocessContext", numa_options)
        super().__init__(name, entrypoint, args, envs, logs_specs, log_line_prefixes,
                         duplicate_stdout_filters, duplicate_stderr_filters)  # fmt: skip
        self._start_method = start_method


class SubprocessContext(PContext):
    """Processes of a program."""

    def __init__(self, name, entrypoint, args, envs, logs_specs, log_line_prefixes=None,
                 numa_options=None, duplicate_stdout_filters=None,
                 duplicate_stderr_filters=None):  # fmt: skip
        _refuse("SubprocessContext", numa_options)
        super().__init__(name, entrypoint, args, envs, logs_specs, log_line_prefixes,
                         duplicate_stdout_filters, duplicate_stderr_filters)  # fmt: skip


def start_processes(name, entrypoint, args, envs, logs_specs, log_line_prefixes=None,
                    start_method="spawn", numa_options=None, duplicate_stdout_filters=None,
                    duplicate_stderr_filters=None):  # fmt: skip
    """Starts a function, or a program by its name, once for each local rank, with these arguments
    and variables of the environment; output goes as `logs_specs` says."""
    _refuse("start_processes", numa_options)
    _check_ranks(args, len(args), "args")
    _check_ranks(envs, len(args), "envs")
    program = isinstance(entrypoint, str)
    context = (SubprocessContext if program else MultiprocessContext)(
        name, entrypoint, args, envs, *([] if program else [start_method]), logs_specs,
        log_line_prefixes, duplicate_stdout_filters=duplicate_stdout_filters,
        duplicate_stderr_filters=duplicate_stderr_filters,
    )  # fmt: skip
    try:
        context.start()
    except BaseException:
        context.close()
        raise
    return context
