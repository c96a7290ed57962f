"""Runs the worker over functions, in child processes with limits, and starts it again after a crash
or a call that did not end, with the next case.
"""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field

import worker
from record import Record, Signature

HERE = pathlib.Path(__file__).resolve().parent
# A thread takes a stack and, of the C library, an arena out of the limit on memory: as many on each
# machine, however many processors it has. Names that nobody knows are looked up for a second.
ALIKE = {
    "FLAMBEAU_NUM_THREADS": "2",
    "MALLOC_ARENA_MAX": "2",
    "RES_OPTIONS": "timeout:1 attempts:1",
}
MOST = 4  # crashes of one function; the rest of its cases is left out


@dataclass
class Findings:
    faults: list[str] = field(default_factory=list)
    called: dict[str, int] = field(default_factory=dict)
    bases: dict[str, list[int]] = field(default_factory=dict)  # a function's attempts that work

    @property
    def works(self) -> set[str]:
        return {name for name, found in self.bases.items() if found}

    def add(self, line: dict) -> None:
        if "fault" in line:
            self.faults.append(f"{line['call']} [case {line['case']}]\n    {line['fault']}")
        if "bases" in line:
            self.bases[line["function"]] = line["bases"]
            self.called.setdefault(line["function"], 0)
        if line.get("done"):
            self.called[line["function"]] = line["calls"]


def alone(f: Signature) -> bool:
    """Whether a function may change what all later calls of its process see."""
    objects = any(s.family in ("tensor", "handle", "list") for s in f.slots)
    scopes = "flam_scope" in (f.result["type"], *(s.bare for s in f.slots))
    return scopes or (bool(f.slots) and not objects and f.result["kind"] in ("void", "status"))


def groups(record: Record, chosen: list[str]) -> list[list[str]]:
    """Functions that share a process: those of a header, but for those that go alone."""
    shared: dict[str, list[str]] = {}
    single = []
    for name in chosen:
        f = record.functions[name]
        if alone(f):
            single.append([name])
        else:
            shared.setdefault(f.header, []).append(name)
    return [*shared.values(), *single]


def death(code: int) -> str:
    if code in (-signal.SIGPROF, -signal.SIGALRM):
        return "does not end"
    name = signal.Signals(-code).name if code < 0 else f"exit status {code}"
    return f"ends the process: {name}"


def start(command: list[str], folder: str, **more) -> subprocess.CompletedProcess:
    """A child whose calls write into a folder of its own, and not into the caller's home."""
    return subprocess.run(
        command,
        cwd=folder,
        text=True,
        errors="replace",
        capture_output=True,
        env=os.environ | ALIKE | {"PYTHONPATH": str(HERE), "HOME": folder},
        **more,
    )


def run(record: Record, group: list[str], device: str, findings: Findings) -> None:
    todo = [(name, 0) for name in group]
    crashes: dict[str, int] = {}
    while todo:
        with tempfile.TemporaryDirectory() as folder:
            journal = pathlib.Path(folder, "journal")
            journal.write_bytes(b"\0" * 8192)
            command = [sys.executable, str(HERE / "worker.py"), device, str(journal)]
            lines = (dict(name=n, start=s, bases=findings.bases.get(n)) for n, s in todo)
            asked = "".join(json.dumps(line) + "\n" for line in lines)
            child = start(command, folder, input=asked)
            last = journal.read_bytes().split(b"\0")[0]
        done = set()
        for text in child.stdout.splitlines():
            line = json.loads(text)
            findings.add(line)
            done |= {line["function"]} if line.get("done") else set()
        todo = [(name, start) for name, start in todo if name not in done]
        if child.returncode == 0 and not todo:
            return
        if not last:
            raise RuntimeError(f"the worker did not begin: {child.stderr[-2000:]}")
        name, case, call, endless = json.loads(last)
        todo = [(n, case if n == name else 0) for n, _ in todo]
        if child.returncode == worker.LOST:
            continue
        if child.returncode == -signal.SIGALRM and endless:
            continue
        why = death(child.returncode) + ("" if child.returncode < 0 else f"\n{child.stderr[-600:]}")
        findings.faults.append(f"{call} [case {case}]\n    {why}")
        crashes[name] = crashes.get(name, 0) + 1
        findings.called.setdefault(name, 0)
        if crashes[name] >= MOST:
            todo = [t for t in todo if t[0] != name]
