"""Single ops beside PyTorch and beside what the machine can do: python ops_bench.py [--rounds N]
[--seconds S] [--threads T] [--speedup] [--only WORDS] [--write]

Every row of op_rows.py, ours and PyTorch's in processes in turn, several rounds over. Times are the
least of all rounds. The share is that of the bound named, measured by machine.cc in the same run:
the rate of multiply-adds in registers, or of copies (bytes both ways) or reads of memory as large
as what the row moves. PyTorch is that of the interpreter named by FLAMBEAU_BENCH_TORCH, else of
this one. With --speedup it is ours with T threads (2 unless told) beside ours with one, by the
clock. --write keeps the table in results/.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shlex
import statistics
import subprocess
import sys

from models import library, ratio_text, time_text
from op_rows import ROWS, Row
from speed import HERE, ROOT, keep, torch_python

SIZES = {"256 KiB": 2**18, "8 MiB": 2**23, "256 MiB": 2**28}
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "FLAMBEAU_NUM_THREADS")


def machine() -> dict[str, float]:
    """The machine's rates in one thread, by name."""
    build = ROOT / "build" / (ROOT / "build" / "preset").read_text().strip()
    program = build / "bench" / "bench_machine"
    if not program.exists():
        print("no bench_machine was built (make bench): no shares of bounds")
        return {}
    said = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    return {name: float(value) for name, value in (line.split(": ") for line in said.splitlines())}


def machine_text(rates: dict[str, float]) -> str:
    def text(name: str, value: float) -> str:
        if name == "page fault":
            return f"{name} {value * 1e6:.2f} us"
        unit = "GB/s" if name.startswith(("read", "copy")) else "GFLOP/s"
        return f"{name} {value * 1e-9:.0f} {unit}"

    return "This machine in one thread: " + ", ".join(text(*pair) for pair in rates.items()) + "."


def bound_of(row: Row, rates: dict[str, float]) -> tuple[str, float] | None:
    """Which rate bounds a row here, and the least seconds that it can take."""
    name = row.bound if row.bound in ("copy", "read") or row.bound in rates else "f32"
    rate = rates.get(name)
    if name in ("copy", "read"):
        size = min(SIZES, key=lambda size: abs(math.log(SIZES[size] / row.amount)))
        rate = rates.get(f"{name} {size}")
    return (name, row.amount / rate) if rate else None


def run(python: str, package: str, options: argparse.Namespace, threads: int, env: dict) -> dict:
    clock = "own" if threads == 1 and not options.speedup else "wall"
    arguments = [package, str(threads), clock, str(options.seconds), options.only]
    command = [python, str(HERE / "op_run.py"), *arguments]
    env = os.environ | {name: str(threads) for name in THREADS} | env
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    if done.returncode:
        raise SystemExit(f"{shlex.join(command)} failed:\n{done.stderr}")
    rows = map(json.loads, done.stdout.splitlines())
    return {row["name"]: row.get("seconds") or row["error"] for row in rows}


def least(runs: list[dict], name: str) -> float | str | None:
    found = [found[name] for found in runs if name in found]
    errors = [value for value in found if isinstance(value, str)]
    return errors[0] if errors else min(found, default=None)


def line(name: str, ours: float, other: float | None, rates: dict[str, float]) -> str:
    bound = bound_of(ROWS[name], rates)
    share = f"{bound[1] / ours:.0%} of {bound[0]}" if bound else "-"
    cells = [name, time_text(ours), time_text(other), ratio_text(ours, other), share]
    return "| " + " | ".join(cells) + " |"


def table(
    heads: tuple[str, str], ours: list[dict], others: list[dict], rates: dict[str, float]
) -> tuple[str, str]:
    """The rows, worst first, and a summary."""
    times = {name: (least(ours, name), least(others, name)) for name in ours[0]}
    refused = [f"{n}: {t}" for n, pair in times.items() for t in pair if isinstance(t, str)]
    good = {n: p for n, p in times.items() if not any(isinstance(t, str) for t in p)}
    ratios = {n: other / mine for n, (mine, other) in good.items() if other}
    names = sorted(good, key=lambda name: ratios.get(name, 0))
    lines = [f"| | {' | '.join(heads)} | ratio | share of the bound |", "|---|" + "---:|" * 4]
    lines += [line(name, *good[name], rates) for name in names]
    summary = ""
    if ratios:
        below = sum(ratio < 1 for ratio in ratios.values())
        mean = statistics.geometric_mean(ratios.values())
        summary = f"Geometric mean {mean:.2f}; {below} of {len(ratios)} rows below 1."
    return "\n".join(lines), "\n".join([summary, *refused])


def main() -> None:
    parser = argparse.ArgumentParser(description="Single ops beside PyTorch")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.05, help="per row and process")
    parser.add_argument("--threads", type=int, help="default: 1, or 2 for --speedup")
    parser.add_argument("--speedup", action="store_true", help="beside ours with one thread")
    parser.add_argument("--only", default="", help="rows whose name has one of a|b|c")
    parser.add_argument("--write", action="store_true", help="keep the table in results/")
    options = parser.parse_args()
    threads = options.threads or (2 if options.speedup else 1)
    torch = None if options.speedup else torch_python()
    rates, ours, others = machine(), [], []
    for _ in range(options.rounds):
        ours.append(run(sys.executable, "flambeau", options, threads, library()))
        if torch:
            others.append(run(torch[0], "torch", options, threads, {}))
        if options.speedup:
            others.append(run(sys.executable, "flambeau", options, 1, library()))
    heads = (f"{threads} threads", "one") if options.speedup else ("flambeau", "PyTorch")
    text, summary = table(heads, ours, others, rates)
    print("\n".join([machine_text(rates), "", text, "", summary]))
    if options.write:
        about = f"Least of {options.rounds} rounds of alternating processes. {machine_text(rates)}"
        on = "one thread" if threads == 1 else f"{threads} threads"
        suffix = "threads" if options.speedup else "ops" + f"-{threads}" * (threads > 1)
        keep("Single ops", suffix, torch and torch[1][0], f"{about} {summary}", text, on)


if __name__ == "__main__":
    main()
