"""One command for a machine with a GPU, which may have no network: `python3 tests/gpu_check/run.py
OUTPUT`.

Builds for that GPU with the nvcc, compiler, cmake and ninja found there, runs every suite with
`--device cuda`, the digits example, the smaller ones under compute-sanitizer, and a comparison with
the PyTorch found there. Fetches nothing: what lacks a Python package is named and reported as not
run. Writes OUTPUT/gpu_check.json, a table beside it and the output of what failed, and stays within
eight minutes.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

import suites  # noqa: E402
from suites import Outcome, Suite  # noqa: E402

LIMIT = 470.0  # seconds for everything
BUILD = ROOT / "build" / "gpu"


def text_of(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def machine() -> dict[str, str]:
    query = "name,driver_version,memory.total,compute_cap"
    gpus = text_of("nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader").splitlines()
    if not gpus:
        sys.exit(
            "no NVIDIA GPU answers to nvidia-smi; `make test` checks everything that needs none"
        )
    nvcc = text_of(str(ROOT / "lib" / "build" / "find_nvcc.sh"), "system")
    if not nvcc:
        sys.exit("no nvcc 12.8 or newer on PATH or in /usr/local/cuda")
    for tool in ("cmake", "ninja", "g++"):
        if not shutil.which(tool):
            sys.exit(f"{tool} is not on PATH")
    name, driver, memory, capability = (part.strip() for part in gpus[0].split(","))
    return {
        "gpu": name,
        "gpus": str(len(gpus)),
        "driver": driver,
        "memory": memory,
        "capability": capability,
        "nvcc": nvcc,
        "cuda": text_of(nvcc, "--version").splitlines()[-1],
        "compiler": text_of("g++", "--version").splitlines()[0],
        "python": platform.python_version(),
        "commit": text_of("git", "-C", str(ROOT), "rev-parse", "--short", "HEAD") or "no git",
    }


def build(found: dict[str, str]) -> list[Suite]:
    architecture = found["capability"].replace(".", "") + "-real"
    configure = ["cmake", "-S", str(ROOT), "-B", str(BUILD), "-G", "Ninja", "-DFLAM_CUDA=ON"]
    configure += [f"-DCMAKE_CUDA_COMPILER={found['nvcc']}", "-DFLAM_NATIVE_ISA=ON"]
    configure += [f"-DCMAKE_CUDA_ARCHITECTURES={architecture}", "-DCMAKE_BUILD_TYPE=None"]
    configure += ["-DCMAKE_CXX_FLAGS=-O1", "-DCMAKE_C_FLAGS=-O1", "-DFLAM_KERNEL_OPTIMIZE=-O2"]
    configure += [f"-DPython_EXECUTABLE={sys.executable}"]
    return [Suite("configure", configure), Suite("build", ["cmake", "--build", str(BUILD)])]


def digits(*options: str, prefix: tuple[str, ...] = (), name: str) -> Suite:
    script = ROOT / "examples" / "python" / "digits.py"
    saved = BUILD / f"{name.replace(' ', '-')}.safetensors"
    command = [*prefix, sys.executable, str(script), "--device", "cuda", "--save", str(saved)]
    missing = suites.missing_modules("cffi", "numpy")
    return Suite(name, [*command, *options], environment(), missing=missing)


def environment() -> dict[str, str]:
    paths = [str(ROOT / "bindings" / "python"), os.environ.get("PYTHONPATH", "")]
    library = str(BUILD / "libflambeau.so.0")
    return {"FLAMBEAU_LIBRARY": library, "PYTHONPATH": os.pathsep.join(p for p in paths if p)}


def sanitized(tool: str) -> list[Suite]:
    """The kernels that a training step launches, and the runtime's C++ tests, under one tool."""
    sanitizer = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    prefix = (sanitizer, "--tool", tool, "--error-exitcode", "9", "--target-processes", "all")
    listed = [
        digits("--epochs", "1", "--conv", "--workers", "0", prefix=prefix, name=f"digits, {tool}"),
        Suite(f"kernels, {tool}", [*prefix, str(BUILD / "tests" / "kernels_test")]),
    ]
    if not Path(sanitizer).exists():
        for suite in listed:
            suite.missing = "compute-sanitizer is not there"
    elif not (BUILD / "tests" / "kernels_test").exists():
        listed[1].missing = "no C++ tests were built: GoogleTest is not there"
    return listed


def checks() -> list[Suite]:
    listed = [suites.ctest(BUILD), *suites.python_suites(BUILD, "cuda")]
    for suite in listed:
        suite.env = suite.env | environment()
    compare = [sys.executable, str(ROOT / "tests" / "gpu_check" / "compare.py")]
    missing = suites.missing_modules("cffi", "numpy", "torch")
    listed += [
        digits(name="digits"),
        digits("--conv", name="digits conv"),
        Suite("against PyTorch", compare, environment(), missing=missing),
    ]
    for tool in ("memcheck", "racecheck"):
        listed += sanitized(tool)
    return listed


def write(folder: Path, found: dict[str, str], outcomes: list[Outcome], seconds: float) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for o in outcomes:
        row = {
            "suite": o.suite.name,
            "status": o.status,
            "seconds": round(o.seconds, 1),
            "closing": o.closing,
        }
        if o.suite.name == "against PyTorch" and o.status != "not run":
            row["rows"] = [json.loads(x) for x in o.output.splitlines() if x.startswith("{")]
        rows.append(row)
        if o.status == "failed":
            log = "".join(c if c.isalnum() else "_" for c in o.suite.name) + ".log"
            (folder / log).write_text(o.output[-400_000:])
    result = {"machine": found, "seconds": round(seconds, 1), "suites": rows}
    (folder / "gpu_check.json").write_text(json.dumps(result, indent=1) + "\n")
    lines = [f"{found['gpu']}, driver {found['driver']}, {found['cuda']}, commit {found['commit']}"]
    lines += [
        f"{r['status']:8} {r['seconds']:7.1f} s  {r['suite']:22} {r['closing'][:120]}" for r in rows
    ]
    lines.append(f"{seconds:.0f} s in all")
    (folder / "gpu_check.txt").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


def main() -> int:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "gpu_check")
    start = time.monotonic()
    found = machine()

    def run(suite: Suite) -> Outcome:
        left = LIMIT - (time.monotonic() - start)
        if left < 5 and not suite.missing:
            suite.missing = f"the {LIMIT:.0f} seconds were used up"
        return suites.run(suite, left)

    outcomes = []
    for suite in build(found):
        outcomes.append(run(suite))
        if outcomes[-1].status != "passed":
            print(outcomes[-1].output[-6000:])
            break
    else:
        with ThreadPoolExecutor(4) as pool:
            outcomes += pool.map(run, checks())
    write(folder, found, outcomes, time.monotonic() - start)
    return 1 if any(o.status == "failed" for o in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
