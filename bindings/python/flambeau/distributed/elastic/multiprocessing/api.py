"""Where the output of processes goes: which streams into which files, and which of them to the
console as well. Each attempt of a job has a folder of its own, so that nothing is overwritten."""

import os
import re
import tempfile
from dataclasses import dataclass, field
from enum import IntFlag

from ...._on_demand import loader as _loader
from .errors import ProcessFailure

__all__ = ["DefaultLogsSpecs", "LogsDest", "LogsSpecs", "RunProcsResult", "SignalException",
           "Std", "to_map"]  # fmt: skip


class SignalException(Exception):
    """A launcher was told by a signal to end, and has ended its processes."""

    def __init__(self, msg, sigval):
        super().__init__(msg)
        self.sigval = sigval


class Std(IntFlag):
    """Streams of a process."""

    NONE = 0
    OUT = 1
    ERR = 2
    ALL = OUT | ERR

    @classmethod
    def from_str(cls, vm):
        """`3`: both streams of all processes; `0:1,1:2`: the first's output, the second's
        errors."""
        if re.fullmatch("[0-3]", vm):
            return cls(int(vm))
        if not re.fullmatch(r"\d+:[0-3](,\d+:[0-3])*", vm):
            raise ValueError(
                f"{vm!r} names no streams: give 0 (none), 1 (stdout), 2 (stderr) or 3 (both), or "
                "a list by local rank as 0:3,1:1"
            )
        pairs = (item.split(":") for item in vm.split(","))
        return {int(rank): cls(int(streams)) for rank, streams in pairs}


def to_map(val_or_map, local_world_size):
    """The streams of each local rank."""
    if isinstance(val_or_map, Std):
        return dict.fromkeys(range(local_world_size), val_or_map)
    return {rank: val_or_map.get(rank, Std.NONE) for rank in range(local_world_size)}


@dataclass
class LogsDest:
    """Files by local rank; an empty name is the console."""

    stdouts: dict = field(default_factory=dict)
    stderrs: dict = field(default_factory=dict)
    tee_stdouts: dict = field(default_factory=dict)
    tee_stderrs: dict = field(default_factory=dict)
    error_files: dict = field(default_factory=dict)
    filtered_stdout: str = ""
    filtered_stderr: str = ""


@dataclass
class RunProcsResult:
    """How processes ended, by local rank."""

    return_values: dict = field(default_factory=dict)
    failures: dict[int, ProcessFailure] = field(default_factory=dict)
    stdouts: dict = field(default_factory=dict)
    stderrs: dict = field(default_factory=dict)

    def is_failed(self):
        """Whether one failed."""
        return bool(self.failures)


class LogsSpecs:
    """What a user asked for: a folder, the streams that go to files there (`redirects`), those
    that go to the console too (`tee`), and the local ranks whose output the console shows."""

    def __init__(self, log_dir=None, redirects=Std.NONE, tee=Std.NONE, local_ranks_filter=None):
        self._root_log_dir, self._redirects, self._tee = log_dir, redirects, tee
        self._local_ranks_filter = local_ranks_filter

    def reify(self, envs):
        """The files for processes with these environments, which are told their error files."""
        raise NotImplementedError

    @property
    def root_log_dir(self):
        """The folder."""
        return str(self._root_log_dir)


class DefaultLogsSpecs(LogsSpecs):
    """`LOG_DIR/RUN_ID_xxxx/attempt_N/LOCAL_RANK/` with `stdout.log`, `stderr.log` and `error.json`.
    Without a folder one is made, which goes with the job unless `redirects` has put logs there."""

    def __init__(self, log_dir=None, redirects=Std.NONE, tee=Std.NONE, local_ranks_filter=None):
        if log_dir and log_dir != os.devnull:
            if os.path.isfile(log_dir):
                raise NotADirectoryError(f"log_dir: {log_dir} is a file")
            os.makedirs(log_dir, exist_ok=True)
        super().__init__(log_dir, redirects, tee, local_ranks_filter)
        self._run_dir = None

    @property
    def temporary(self):
        """The folder to remove after the job, or None."""
        return None if self._root_log_dir or self._redirects else self._run_dir

    @property
    def left(self):
        """The folder that stays and that the user has not named, or None."""
        return self._run_dir if self._redirects and not self._root_log_dir else None

    def _attempt_dir(self, envs):
        about = envs.get(0, {})
        if self._run_dir is None:
            run_id = re.sub(r"[^\w.-]", "_", about.get("TORCHELASTIC_RUN_ID", "run"))
            name = f"{run_id}_" if self._root_log_dir else f"flambeau_{run_id}_"
            self._run_dir = tempfile.mkdtemp(prefix=name, dir=self._root_log_dir or None)
        folder = f"attempt_{about.get('TORCHELASTIC_RESTART_COUNT', '0')}"
        if int(about.get("FLAMBEAU_ROUND", 0)):  # other nodes, and perhaps no other attempt
            folder += f"_round_{about['FLAMBEAU_ROUND']}"
        return os.path.join(self._run_dir, folder)

    def reify(self, envs):
        """The files for processes with these environments, which are told their error files."""
        ranks = range(len(envs))
        if self._root_log_dir == os.devnull:
            for env in envs.values():
                env["TORCHELASTIC_ERROR_FILE"] = ""
            shown = {rank: "" if self._shows(rank) else os.devnull for rank in ranks}
            return LogsDest(shown, dict(shown), error_files=dict.fromkeys(ranks, os.devnull))
        folder = self._attempt_dir(envs)
        redirects, tees = to_map(self._redirects, len(envs)), to_map(self._tee, len(envs))
        dest = LogsDest(
            filtered_stdout=os.path.join(folder, "filtered_stdout.log"),
            filtered_stderr=os.path.join(folder, "filtered_stderr.log"),
        )
        for rank in ranks:
            home = os.path.join(folder, str(rank))
            os.makedirs(home, exist_ok=True)
            for bit, name, files, teed in (
                (Std.OUT, "stdout.log", dest.stdouts, dest.tee_stdouts),
                (Std.ERR, "stderr.log", dest.stderrs, dest.tee_stderrs),
            ):
                path, shows = os.path.join(home, name), self._shows(rank)
                filed = bool((redirects[rank] | tees[rank]) & bit)
                files[rank] = path if filed else "" if shows else os.devnull
                if tees[rank] & bit and shows:
                    teed[rank] = path
            dest.error_files[rank] = os.path.join(home, "error.json")
            envs[rank]["TORCHELASTIC_ERROR_FILE"] = dest.error_files[rank]
        return dest

    def _shows(self, rank):
        return not self._local_ranks_filter or rank in self._local_ranks_filter


__getattr__ = _loader(globals(), {"_context": "MultiprocessContext PContext SubprocessContext"})
