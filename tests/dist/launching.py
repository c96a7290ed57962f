"""Runs the launcher on small scripts. Whatever a test starts is killed when it ends, with all that
the launcher had started, and no test waits longer than its patience."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 40.0  # of a machine that does other things too


def environment(**more: str) -> dict[str, str]:
    """This process's, without what a launcher would have set."""
    own = ("RANK", "LOCAL_", "WORLD_", "GROUP_", "ROLE_", "MASTER_", "TORCHELASTIC_", "PET_")
    gone = ("FLAMBEAU_JOB_KEY", "OMP_NUM_THREADS", "FLAMBEAU_NUM_THREADS", "FLAMBEAU_SIM")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(own) and k not in gone}
    path = os.pathsep.join([str(ROOT / "bindings" / "python"), kept.get("PYTHONPATH", "")])
    return kept | {"PYTHONPATH": path.rstrip(os.pathsep)} | more


def runs(pid: int) -> bool:
    """Whether the process is there, and not one that only has to be waited for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def handles(pid: int, number: int) -> bool:
    """Whether the process has a handler for the signal."""
    found = re.search(r"SigCgt:\s*(\w+)", Path(f"/proc/{pid}/status").read_text())
    return bool(found) and bool(int(found[1], 16) >> (number - 1) & 1)


def until(what, patience: float = PATIENCE):
    """What `what` returns, once that is true."""
    end = time.monotonic() + patience
    while not (found := what()):
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)
    return found


def free_port() -> int:
    """A port that nobody uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Launcher(subprocess.Popen):
    """A launcher, whose ranks run `script`."""

    def __init__(self, folder: Path, script: str, *options, args=(), module="", before=(), **env):
        path = folder / "script.py"
        path.write_text(script)
        name = module or "flambeau.distributed.run"
        command = [sys.executable, *before, "-m", name, *options, str(path), *args]
        super().__init__(
            list(map(str, command)),
            cwd=folder,
            env=environment(OUT=str(folder), **env),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            text=True,
        )
        self.folder = folder

    def done(self, code: int) -> tuple[str, str]:
        """What it wrote, after it ended with this exit code."""
        out, err = self.communicate(timeout=PATIENCE)
        assert self.returncode == code, f"exit code {self.returncode}\n{out}\n{err}"
        return out, err

    def said(self, name: str, count: int = 1) -> list:
        """What ranks wrote by `say(name, ...)`, once there are so many, by rank."""

        def there():
            files = sorted(self.folder.glob(f"{name}.*[0-9]"))
            return len(files) >= count and files

        return [json.loads(file.read_text()) for file in until(there)]


# What scripts begin with: `say` tells the test something, `after` waits until another rank did.
SAY = """
import json, os, signal, subprocess, sys, time
rank, attempt = int(os.environ.get("RANK", 0)), int(os.environ["TORCHELASTIC_RESTART_COUNT"])
def say(name, what):
    path = os.path.join(os.environ["OUT"], f"{name}.{attempt}.{rank}")
    with open(path + "~", "w") as file:
        json.dump(what, file)
    os.rename(path + "~", path)
def after(name, rank):
    while not os.path.exists(os.path.join(os.environ["OUT"], f"{name}.{attempt}.{rank}")):
        time.sleep(0.01)
"""


class Launchers:
    """Those of one test."""

    def __init__(self, folder: Path):
        self._folder, self._started = folder, []

    def __call__(self, script: str, *options, **more) -> Launcher:
        folder = self._folder / more.pop("folder", "")
        folder.mkdir(exist_ok=True)
        started = Launcher(folder, SAY + script, *options, **more)
        self._started.append(started)
        return started

    def end(self) -> None:
        for started in self._started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(started.pid, signal.SIGKILL)  # its keeper ends the rest
            started.communicate(timeout=PATIENCE)
