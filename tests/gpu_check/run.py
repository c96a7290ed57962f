"""One command for a machine with a GPU, which may have no network: `python3 tests/gpu_check/run.py
OUTPUT [--build FOLDER] [--only WORD] [--without WORD]`.

Builds for that GPU with the nvcc, compiler, cmake and ninja found there, or takes a folder that was
built elsewhere, and runs the parts of parts.py. Fetches nothing: what lacks a package or a program
is named as not run, and then the exit status is not 0, as with a failure, unless `--without` names
the part. Writes OUTPUT/gpu_check.json, a table beside it and the output of what failed, whenever
something is done, and ends within eight minutes: called again, it goes on with what has not passed.

On a machine without a GPU, `--device standin --build build/cpu` rehearses all of it: the same parts
over the stand-ins for NVIDIA's libraries, beside PyTorch on the cpu.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

import suites  # noqa: E402
from parts import SPEED, Parts  # noqa: E402
from suites import Outcome, Suite  # noqa: E402

LIMIT = 470.0  # seconds of one call
BUILD = ROOT / "build" / "gpu"
FAILED, INCOMPLETE = 1, 3  # exit statuses; 3: nothing failed, but not everything ran


def text_of(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def about() -> dict[str, str]:
    return {
        "compiler": text_of("g++", "--version").partition("\n")[0],
        "python": platform.python_version(),
        "commit": text_of("git", "-C", str(ROOT), "describe", "--always", "--dirty") or "no git",
        "sources": sources(),
    }


def sources() -> str:
    """A digest of all that is built and tested, committed or not."""
    found = hashlib.sha256()
    for top in ("bindings", "examples", "include", "lib", "tests"):
        for path in sorted((ROOT / top).rglob("*")):
            parts = path.relative_to(ROOT).parts
            if path.is_file() and not {"__pycache__", "target"} & set(parts):
                found.update("/".join(parts).encode() + path.read_bytes())
    return found.hexdigest()[:16]


def machine(builds: bool) -> dict[str, str]:
    query = "name,driver_version,memory.total,compute_cap"
    gpus = text_of("nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader").splitlines()
    if not gpus:
        sys.exit(
            "no NVIDIA GPU answers to nvidia-smi; `make test` checks everything that needs none"
        )
    nvcc = text_of(str(ROOT / "lib" / "build" / "find_nvcc.sh"), "system")
    if builds and not nvcc:
        sys.exit("no nvcc 12.8 or newer on PATH or in /usr/local/cuda")
    for tool in ("cmake", "ninja", "g++"):
        if builds and not shutil.which(tool):
            sys.exit(f"{tool} is not on PATH")
    name, driver, memory, _ = (part.strip() for part in gpus[0].split(","))
    capabilities = sorted({gpu.rpartition(",")[2].strip() for gpu in gpus})
    return {
        "gpu": name,
        "gpus": str(len(gpus)),
        "driver": driver,
        "memory": memory,
        "capability": ", ".join(capabilities),
        "nvcc": nvcc,
        "cuda": text_of(nvcc, "--version").rpartition("\n")[2] if nvcc else "built elsewhere",
        **about(),
    }


def build(found: dict[str, str]) -> list[Suite]:
    """As the preset of a release builds, for this machine alone."""
    codes = [c.replace(".", "") + "-real" for c in found["capability"].split(", ")]
    configure = ["cmake", "--preset", "cuda", "-S", str(ROOT), "-B", str(BUILD)]
    configure += [f"-DCMAKE_CUDA_COMPILER={found['nvcc']}", "-DFLAM_NATIVE_ISA=ON"]
    configure += [f"-DCMAKE_CUDA_ARCHITECTURES={';'.join(codes)}"]
    configure += [f"-DPython_EXECUTABLE={sys.executable}"]
    return [Suite("configure", configure), Suite("build", ["cmake", "--build", str(BUILD)])]


def row_of(o: Outcome) -> dict:
    row = {
        "suite": o.suite.name,
        "status": o.status,
        "seconds": round(o.seconds, 1),
        "closing": o.closing,
    }
    if o.suite.name == SPEED and o.status == "passed":
        row["rows"] = [json.loads(x) for x in o.output.splitlines() if x.startswith("{")]
    return row


def digest(folder: Path) -> str:
    """Of the library, so that what passed counts for it and for no other."""
    library = folder / "libflambeau.so.0"
    if not library.exists():
        return ""
    return hashlib.sha256(library.read_bytes()).hexdigest()[:16]


class Results:
    """What was found, on disk as soon as it is; begins with what was found in a call before, of the
    same commit and library on the same machine."""

    def __init__(self, folder: Path, found: dict[str, str]):
        self.folder, self.found, self.rows = folder, found, {}
        self.lock = threading.Lock()
        folder.mkdir(parents=True, exist_ok=True)
        before = folder / "gpu_check.json"
        if before.exists():
            known = json.loads(before.read_text())
            if known["machine"] == found:
                self.rows = {r["suite"]: r for r in known["suites"]}

    def due(self, parts: list[Suite]) -> list[Suite]:
        """What has not passed; first what was cut off before, which then has the whole time."""
        rows = [(self.rows.get(p.name, {"status": "not run", "seconds": 0.0}), p) for p in parts]
        rows = [(row, p) for row, p in rows if row["status"] != "passed"]
        return [p for row, p in sorted(rows, key=lambda pair: -pair[0]["seconds"])]

    def add(self, o: Outcome) -> None:
        with self.lock:
            self.rows[o.suite.name] = row_of(o)
            if o.output and o.status not in ("passed", "waived"):
                log = "".join(c if c.isalnum() else "_" for c in o.suite.name) + ".log"
                (self.folder / log).write_text(o.output[-400_000:])
            result = {"machine": self.found, "suites": list(self.rows.values())}
            written = self.folder / "gpu_check.json.new"  # a call may end in the midst of it
            written.write_text(json.dumps(result, indent=1) + "\n")
            os.replace(written, self.folder / "gpu_check.json")
            (self.folder / "gpu_check.txt").write_text(self.table())

    def table(self) -> str:
        f = self.found
        lines = [f"{f['gpu']}, driver {f['driver']}, {f['cuda']}, commit {f['commit']}"]
        lines += [
            f"{r['status']:8} {r['seconds']:7.1f} s  {r['suite']:34} {r['closing'][:120]}"
            for r in self.rows.values()
        ]
        return "\n".join(lines) + "\n"

    def shown(self, names: list[str]) -> int:
        """Prints; returns the exit status for the parts of these names."""
        statuses = [self.rows[n]["status"] if n in self.rows else "not run" for n in names]
        count = {s: statuses.count(s) for s in ("passed", "failed", "not run", "waived")}
        print(self.table(), end="")
        print(", ".join(f"{n} {status}" for status, n in count.items()))
        return FAILED if count["failed"] else INCOMPLETE if count["not run"] else 0


class Clock:
    """The seconds of one call. A part that had half of them to itself and was not done has failed;
    one for which less was left did not run."""

    def __init__(self, limit: float):
        self.limit, self.start = limit, time.monotonic()

    def run(self, suite: Suite, whole: bool = False) -> Outcome:
        left = self.limit - (time.monotonic() - self.start)
        if left < 1 and not suite.missing:
            why = f"the {self.limit:.0f} seconds were used up: call it again"
            suite = replace(suite, missing=why)
        longest = left if whole else min(left, self.limit / 2)
        outcome = suites.run(suite, longest)
        if outcome.cut and longest < left:
            outcome.status = "failed"
            outcome.closing += ", which is half of --limit"
        elif outcome.cut:
            outcome.closing += f" as the {self.limit:.0f} seconds were used up: call it again"
        return outcome


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Checks flambeau on the GPU of this machine.")
    parser.add_argument("output", nargs="?", default=str(ROOT / "build" / "gpu_check"))
    parser.add_argument("--build", help="a folder with the library and its tests, built elsewhere")
    parser.add_argument("--device", default="cuda", choices=("cuda", "standin"))
    parser.add_argument("--programs", default="", help="a folder of scripts that import torch")
    words = {"action": "append", "default": [], "metavar": "WORD"}
    parser.add_argument("--only", help="the parts with one of these in their name", **words)
    parser.add_argument("--without", help="parts that may be left out, the same", **words)
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for this call")
    return parser.parse_args()


def named(words: list[str], parts: list[Suite], option: str) -> list[Suite]:
    for word in words:
        if not any(word in part.name for part in parts):
            names = "\n  ".join(part.name for part in parts)
            sys.exit(f"{option} {word}: no part has this in its name; the parts are\n  {names}")
    return [part for part in parts if any(word in part.name for word in words)]


def main() -> int:
    options, found = arguments(), {}
    clock = Clock(options.limit)
    if options.device == "standin":
        found = {"gpu": "stand-in", "driver": "stand-in", "cuda": "none"} | about()
        options.build = options.build or str(ROOT / "build" / "cpu")
    else:
        found = machine(builds=not options.build)
    folder = Path(options.build).resolve() if options.build else BUILD
    made = Parts(folder, options.device)
    parts = [*made.side_by_side(options.programs), made.timed()]
    waived = named(options.without, parts, "--without")
    chosen = named(options.only, parts, "--only") if options.only else parts

    steps = [] if options.build else build(found)
    outcomes = []
    for step in steps:
        outcomes.append(clock.run(step, whole=True))
        if outcomes[-1].status != "passed":
            break
    results = Results(Path(options.output), found | {"library": digest(folder)})
    for outcome in outcomes:
        results.add(outcome)
    if all(outcome.status == "passed" for outcome in outcomes):
        check(clock, results, chosen, waived)
    seconds = time.monotonic() - clock.start
    status = results.shown([part.name for part in [*steps, *chosen]])
    print(f"{seconds:.0f} s")
    return status


def check(clock: Clock, results: Results, chosen: list[Suite], waived: list[Suite]) -> None:
    for part in results.due([part for part in chosen if part in waived]):
        results.add(Outcome(part, "waived", 0.0, "left out as the caller asked"))
    due = results.due([part for part in chosen if part not in waived])
    with ThreadPoolExecutor(min(4, len(os.sched_getaffinity(0)))) as pool:
        together = [part for part in due if part.name != SPEED]
        list(pool.map(lambda part: results.add(clock.run(part)), together))
    for part in due:
        if part.name == SPEED:
            results.add(clock.run(part))


if __name__ == "__main__":
    sys.exit(main())
