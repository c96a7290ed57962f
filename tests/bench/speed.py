"""Small work beside PyTorch and NumPy: python speed.py PATH/TO/bench_speed [--rounds N] [--write]

Runs speed.c, the same rows in libtorch (compiled here) and speed_rows.py one after another, several
rounds over, each process on one thread, and prints medians and ratios. PyTorch is that of the
interpreter named by FLAMBEAU_BENCH_TORCH, else of this one. --write keeps the table in results/.
"""

from __future__ import annotations

import datetime
import os
import platform
import shlex
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ONE_THREAD = {
    name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
} | {"FLAMBEAU_NUM_THREADS": "1"}

# Rows of the table: language, what, our row, the other's row, the least ratio that we ask for.
COMPARED = [
    ("C", "add, 1 element", "add", "add", 3.5),
    ("C", "add, 1 element, autograd", "add, autograd", "add, autograd", 3.5),
    ("C", "MLP step, modules", "MLP step, modules", "MLP step, modules", 5.0),
    ("C", "MLP step, functions", "MLP step, functions", "MLP step, functions", 5.0),
    ("Python", "add, 1 element", "add", "add", 2.0),
    ("Python", "add, 1 element, autograd", "add, autograd", "add, autograd", None),
    ("Python", "MLP step", "MLP step", "MLP step", 6.0),
    ("Python", "MLP step, fused=True", "MLP step, fused", "MLP step, fused", None),
]

ABOUT_TORCH = (
    "import torch, os; print(torch.__version__, os.path.dirname(torch.__file__), "
    "int(torch.compiled_with_cxx11_abi()), sep='\\n')"
)


def torch_python() -> tuple[str, list[str]] | None:
    """An interpreter with PyTorch: its path, and version, folder and ABI of the package."""
    python = os.environ.get("FLAMBEAU_BENCH_TORCH", sys.executable)
    try:
        asked = subprocess.run([python, "-c", ABOUT_TORCH], capture_output=True, text=True)
    except OSError as e:
        print(f"FLAMBEAU_BENCH_TORCH: {e}")
        return None
    if asked.returncode:
        print(f"{python} has no torch: no columns for it (FLAMBEAU_BENCH_TORCH names one that has)")
        return None
    return python, asked.stdout.split("\n")


def libtorch_program(folder: str, cxx11_abi: str, program: Path) -> Path | None:
    """Compiles torch/speed.cc against the package in `folder`."""
    source, torch = HERE / "torch" / "speed.cc", Path(folder)
    if program.exists() and program.stat().st_mtime > source.stat().st_mtime:
        return program
    command = [os.environ.get("CXX", "g++"), "-O2", "-std=c++20", str(source), "-o", str(program)]
    command += [f"-D_GLIBCXX_USE_CXX11_ABI={cxx11_abi}", f"-I{torch / 'include'}"]
    command += [f"-I{torch / 'include/torch/csrc/api/include'}", f"-L{torch / 'lib'}"]
    command += [f"-Wl,-rpath,{torch / 'lib'}", "-Wl,--no-as-needed", "-ltorch", "-ltorch_cpu"]
    if subprocess.run([*command, "-lc10"]).returncode:
        print("libtorch: not compiled, no column for it in C")
        return None
    return program


def measure(command: list[str], env: dict[str, str]) -> dict[str, float]:
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | env)
    if done.returncode:
        raise SystemExit(f"{shlex.join(command)} failed:\n{done.stderr}")
    rows = (line.rsplit(": ", 1) for line in done.stdout.splitlines())
    return {name: float(ns) for name, ns in rows}


def medians(commands: dict[str, tuple[list[str], dict]], rounds: int) -> dict[str, dict]:
    """Alternating processes; per program and row the median over the rounds."""
    found: dict[str, list[dict[str, float]]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, (command, env) in commands.items():
            found[name].append(measure(command, ONE_THREAD | env))
    return {
        name: {row: statistics.median(r[row] for r in runs) for row in runs[0]}
        for name, runs in found.items()
    }


def programs(ours: str) -> tuple[dict[str, tuple[list[str], dict]], str | None]:
    """What to run, and PyTorch's version."""
    library = {"FLAMBEAU_LIBRARY": str(Path(ours).resolve().parents[1] / "libflambeau.so.0")}
    library["PYTHONPATH"] = str(ROOT / "bindings" / "python")
    rows = [str(HERE / "speed_rows.py")]
    commands = {
        "C": ([ours], library),
        "Python": ([sys.executable, *rows, "flambeau"], library),
        "NumPy": ([sys.executable, *rows, "numpy"], {}),
    }
    torch = torch_python()
    if not torch:
        return commands, None
    python, (version, folder, abi, *_) = torch
    commands["PyTorch"] = ([python, *rows, "torch"], {})
    program = libtorch_program(folder, abi, Path(ours).with_name("libtorch_speed"))
    if program:
        commands["libtorch"] = ([str(program)], {})
    return commands, version


def table(times: dict[str, dict]) -> str:
    lines = ["| | | flambeau | PyTorch | ratio | bar | NumPy |", "|---|---|" + "---:|" * 5]
    for language, what, our_row, other_row, bar in COMPARED:
        ours = times[language][our_row]
        other = times.get("libtorch" if language == "C" else "PyTorch", {}).get(other_row)
        numpy = times["NumPy"].get(our_row) if language == "Python" else None
        cells = [language, what, time_text(ours), time_text(other)]
        cells += [f"{other / ours:.2f}" if other else "-", str(bar or "-"), time_text(numpy)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def time_text(ns: float | None) -> str:
    return "-" if ns is None else f"{ns:.0f} ns" if ns < 1e4 else f"{ns / 1e3:.1f} us"


def processor() -> str:
    """Its name, with the generation of an AMD core, which hypervisors leave out."""
    try:
        lines = Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines()
    except OSError:
        lines = []
    facts = {key.strip(): value.strip() for key, _, value in (x.partition(":") for x in lines)}
    name = facts.get("model name", platform.machine())
    if facts.get("vendor_id") != "AuthenticAMD":
        return name
    generation = amd_generation(int(facts["cpu family"]), int(facts["model"]))
    return f"{name} {generation}".rstrip()


def amd_generation(family: int, model: int) -> str:
    if family == 25:  # source: the family 19h lists of AMD's revision guides
        return "Zen 4" if model >> 4 in (1, 6, 7, 10) else "Zen 3"
    return {23: "Zen 2" if model >= 0x30 else "Zen", 26: "Zen 5"}.get(family, "")


def keep(
    title: str, suffix: str, version: str | None, about: str, text: str, threads: str = "one thread"
) -> None:
    """Writes a table to results/, with the machine, the versions and the date above it."""
    name = processor()
    beside = f"PyTorch {version}; " if version else ""
    head = (
        f"# {title} on {name}, {threads}\n\n"
        f"{datetime.date.today()}; {beside}Python {platform.python_version()}; "
        f"{platform.system()}. {about}\n\n"
    )
    path = HERE / "results" / f"{name.lower().replace(' ', '-')}-{suffix}.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text(head + text + "\n")
    print(f"written to {path.relative_to(ROOT)}")


def main() -> None:
    arguments = sys.argv[2:]
    rounds = int(arguments[arguments.index("--rounds") + 1]) if "--rounds" in arguments else 5
    commands, version = programs(sys.argv[1])
    text = table(medians(commands, rounds))
    print(text)
    if "--write" not in arguments:
        return
    about = (
        f"Medians of {rounds} rounds of alternating processes, in the thread's own time; C beside "
        "libtorch, Python beside PyTorch."
    )
    keep("Small work", "cpu", version, about, text)


if __name__ == "__main__":
    main()
