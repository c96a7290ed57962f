"""Models and large ops beside PyTorch: python models.py [--rounds N] [--seconds S] [--only WORDS]
[--write]

Every workload of workloads.py runs in processes of its own, ours and PyTorch's in turn, several
rounds over, each on one thread. The table has medians: a process' own time, whose ratio the bar
is about because other work on the machine does not change it, the clock's, and the peak of memory.
PyTorch is that of the interpreter named by FLAMBEAU_BENCH_TORCH, else of this one; without one
only our own times are shown. --write keeps the table in results/.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys

from speed import HERE, ONE_THREAD, ROOT, keep, torch_python
from workloads import WORKLOADS

HEAD = (
    "| | flambeau | PyTorch | ratio | bar | ratio by the clock | memory | PyTorch | held |\n"
    "|---|" + "---:|" * 8
)


def library() -> dict[str, str]:
    """The library under test: FLAMBEAU_LIBRARY, else what was built last."""
    built = ROOT / "build" / "preset"
    found = {"PYTHONPATH": str(ROOT / "bindings" / "python")}
    if "FLAMBEAU_LIBRARY" not in os.environ and built.exists():
        path = built.parent / built.read_text().strip() / "libflambeau.so.0"
        found["FLAMBEAU_LIBRARY"] = str(path)
    return found


def run(python: str, package: str, name: str, seconds: float, env: dict[str, str]) -> dict:
    command = [python, str(HERE / "workload_run.py"), package, name, str(seconds)]
    done = subprocess.run(
        command, capture_output=True, text=True, env=os.environ | ONE_THREAD | env
    )
    if done.returncode:
        raise SystemExit(f"{shlex.join(command)} failed:\n{done.stderr}")
    return json.loads(done.stdout)


def medians(runs: list[dict]) -> dict:
    present = {key: [r[key] for r in runs if r[key] is not None] for key in runs[0]}
    return {key: statistics.median(values) if values else None for key, values in present.items()}


def time_text(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    return f"{seconds * 1e6:.1f} us" if seconds < 1e-3 else f"{seconds * 1e3:.2f} ms"


def memory_text(size: float | None) -> str:
    return "-" if size is None else f"{size / 2**20:.1f} MiB"


def ratio_text(ours: float, other: float | None) -> str:
    return f"{other / ours:.2f}" if other else "-"


def line(name: str, bar: float, ours: dict, other: dict) -> str:
    cells = [name, time_text(ours["cpu"]), time_text(other.get("cpu"))]
    cells += [ratio_text(ours["cpu"], other.get("cpu")), str(bar)]
    cells += [ratio_text(ours["wall"], other.get("wall"))]
    cells += [memory_text(ours["grown"]), memory_text(other.get("grown"))]
    return "| " + " | ".join([*cells, memory_text(ours["held"])]) + " |"


def table(names: list[str], torch: str | None, rounds: int, seconds: float) -> tuple[str, str]:
    """The rows, printed as they are found, and the names of those below their bar in time, and of
    those that take more memory, to a tenth of a MiB."""
    lines, below, larger = [HEAD], [], []
    print(HEAD, flush=True)
    ours_env = library()
    for name in names:
        ours, other = [], []
        for _ in range(rounds):
            ours.append(run(sys.executable, "flambeau", name, seconds, ours_env))
            if torch:
                other.append(run(torch, "torch", name, seconds, {}))
        mine, theirs = medians(ours), medians(other) if other else {}
        lines.append(line(name, WORKLOADS[name].bar, mine, theirs))
        print(lines[-1], flush=True)
        if theirs and theirs["cpu"] < mine["cpu"] * WORKLOADS[name].bar:
            below.append(name)
        if theirs and None not in (mine["grown"], theirs["grown"]):
            if round(mine["grown"] / 2**20, 1) > round(theirs["grown"] / 2**20, 1):
                larger.append(name)
    missed = {"Below their bar": below, "Larger than PyTorch": larger}
    said = "".join(f"\n{what}: {', '.join(rows)}" for what, rows in missed.items() if rows)
    return "\n".join(lines), said


def main() -> None:
    parser = argparse.ArgumentParser(description="Models and large ops beside PyTorch")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.5, help="per process")
    parser.add_argument("--only", default="", help="workloads whose name has these words")
    parser.add_argument("--write", action="store_true", help="keep the table in results/")
    options = parser.parse_args()
    names = [name for name in WORKLOADS if options.only.lower() in name.lower()]
    torch = torch_python()
    python, version = (torch[0], torch[1][0]) if torch else (None, "not found")
    text, below = table(names, python, options.rounds, options.seconds)
    print(below)
    if not options.write:
        return
    about = (
        f"Medians of {options.rounds} rounds of alternating processes. Times are the process' own; "
        "memory is what the process grew by at its peak, without code that ran for the first time; "
        "held is what our allocator had then."
    )
    keep("Models and large ops", "models", version, about, text)


if __name__ == "__main__":
    main()
