"""One command for a machine with a GPU, which may have no network: `python3 tests/gpu_check/run.py
OUTPUT [--build FOLDER] [--only WORD]`.

Builds for that GPU with the nvcc, compiler, cmake and ninja found there, or takes a folder that was
built elsewhere; runs every suite with `--device cuda`, digits and chars, the smaller ones under
compute-sanitizer, every row of the op table beside the PyTorch found there, and times each kernel
family beside its. Fetches nothing: what lacks a Python package is named and reported as not run.
Writes OUTPUT/gpu_check.json, a table beside it and the output of what failed, whenever something is
done, and stays within eight minutes: called again, it goes on with what has not passed yet.

On a machine without a GPU, `--device standin --build build/cpu` rehearses all of it: the same parts
over the stand-ins for NVIDIA's libraries, beside PyTorch on the cpu.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

import suites  # noqa: E402
from suites import Outcome, Suite  # noqa: E402

LIMIT = 470.0  # seconds for everything
BUILD = ROOT / "build" / "gpu"
SPEED = "speed beside PyTorch"


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
        "commit": text_of("git", "-C", str(ROOT), "rev-parse", "--short", "HEAD") or "no git",
    }


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
    name, driver, memory, capability = (part.strip() for part in gpus[0].split(","))
    return {
        "gpu": name,
        "gpus": str(len(gpus)),
        "driver": driver,
        "memory": memory,
        "capability": capability,
        "nvcc": nvcc,
        "cuda": text_of(nvcc, "--version").splitlines()[-1] if nvcc else "built elsewhere",
        **about(),
    }


def build(found: dict[str, str]) -> list[Suite]:
    architecture = found["capability"].replace(".", "") + "-real"
    configure = ["cmake", "-S", str(ROOT), "-B", str(BUILD), "-G", "Ninja", "-DFLAM_CUDA=ON"]
    configure += [f"-DCMAKE_CUDA_COMPILER={found['nvcc']}", "-DFLAM_NATIVE_ISA=ON"]
    configure += [f"-DCMAKE_CUDA_ARCHITECTURES={architecture}", "-DCMAKE_BUILD_TYPE=None"]
    configure += ["-DCMAKE_CXX_FLAGS=-O1", "-DCMAKE_C_FLAGS=-O1", "-DFLAM_KERNEL_OPTIMIZE=-O2"]
    configure += [f"-DPython_EXECUTABLE={sys.executable}"]
    return [Suite("configure", configure), Suite("build", ["cmake", "--build", str(BUILD)])]


class Checks:
    """The suites over the library of one folder; those of PyTorch run on the same device, or on
    the cpu where that is a stand-in."""

    def __init__(self, folder: Path, device: str):
        self.folder, self.device = folder, device
        self.beside = "cpu" if device == "standin" else "cuda"
        paths = [str(ROOT / "bindings" / "python"), os.environ.get("PYTHONPATH", "")]
        place = "standin/libflambeau.so.0" if device == "standin" else "libflambeau.so.0"
        self.environment = {
            "FLAMBEAU_LIBRARY": str(folder / place),
            "PYTHONPATH": os.pathsep.join(p for p in paths if p),
        }
        if device == "standin":
            self.environment["FLAMBEAU_SIM"] = suites.STANDIN

    def python(self, name: str, script: str, *options: str, prefix=(), needs=("cffi", "numpy")):
        command = [*prefix, sys.executable, str(ROOT / script), *options]
        return Suite(name, command, self.environment, missing=suites.missing_modules(*needs))

    def digits(self, *options: str, prefix: tuple[str, ...] = (), name: str) -> Suite:
        saved = str(self.folder / f"{name.replace(' ', '-')}.safetensors")
        options = ("--device", "cuda", "--save", saved, *options)
        return self.python(name, "examples/python/digits.py", *options, prefix=prefix)

    def compiled(self, name: str) -> Suite:
        """An example in C, compiled as a user would."""
        source, program = ROOT / "examples" / "c" / f"{name}.c", self.folder / f"{name}-c"
        compile_it = f"cc -std=c99 -O1 -I'{ROOT}/include' '{source}' -ldl -o '{program}'"
        run_it = f"'{program}' --device cuda --save '{program}.safetensors'"
        return Suite(f"{name} in C", ["sh", "-c", f"{compile_it} && {run_it}"], self.environment)

    def rust(self, name: str) -> Suite:
        """An example in Rust, of crates that Cargo has already or finds."""
        manifest, saved = ROOT / "examples/rust" / name / "Cargo.toml", self.folder / f"{name}-rust"
        command = ["cargo", "run", "--locked", "--release", "--manifest-path", str(manifest), "--"]
        command += ["--device", "cuda", "--save", f"{saved}.safetensors"]
        target = {"CARGO_TARGET_DIR": str(self.folder / "rust")}
        missing = "" if shutil.which("cargo") else "cargo is not there"
        return Suite(f"{name} in Rust", command, self.environment | target, missing=missing)

    def programs(self, folder: str) -> list[Suite]:
        """Others' scripts, which say `import torch`."""
        found = sorted(Path(folder).glob("*.py")) if folder else []
        command = [sys.executable, "-m", "flambeau.as_torch"]
        environment = self.environment | {"MPLBACKEND": "Agg"}
        return [
            Suite(path.stem, [*command, str(path.resolve())], environment, self.folder)
            for path in found
        ]

    def sanitized(self, tool: str) -> list[Suite]:
        """The kernels that a training step launches, and the C++ tests of them, under one tool."""
        sanitizer = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
        prefix = (sanitizer, "--tool", tool, "--error-exitcode", "9", "--target-processes", "all")
        kernels, few = self.folder / "tests" / "kernels_test", ("--epochs", "1", "--workers", "0")
        listed = [
            self.digits("--conv", *few, prefix=prefix, name=f"digits, {tool}"),
            Suite(f"kernels, {tool}", [*prefix, str(kernels)]),
        ]
        if not Path(sanitizer).exists():
            for suite in listed:
                suite.missing = "compute-sanitizer is not there"
        elif not kernels.exists():
            listed[1].missing = "no C++ tests were built: GoogleTest is not there"
        return listed

    def side_by_side(self) -> list[Suite]:
        listed = suites.python_suites(self.folder, self.device)
        for suite in listed:
            suite.env = suite.env | self.environment
        listed.insert(0, suites.ctest(self.folder))
        listed += [self.digits(name="digits"), self.digits("--conv", name="digits conv")]
        listed += [self.python("chars", "examples/python/chars.py", "--device", "cuda")]
        for name in ("digits", "chars"):
            listed += [self.compiled(name), self.rust(name)]
        places = ("--device", "cuda", "--beside", self.beside)
        beside = self.python(
            "beside PyTorch", "tests/torch/run.py", *places, needs=("cffi", "torch")
        )
        beside.env = beside.env | {"TORCH_PYTHON": sys.executable}
        listed.append(beside)
        for tool in ("memcheck", "racecheck", "synccheck", "initcheck"):
            listed += self.sanitized(tool)
        return listed

    def timed(self) -> Suite:
        options = ("--beside", self.beside)
        return self.python(SPEED, "tests/gpu_check/speed.py", *options, needs=("cffi", "torch"))


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


class Results:
    """What was found, on disk as soon as it is; begins with what passed in a call before, of the
    same commit on the same machine."""

    def __init__(self, folder: Path, found: dict[str, str]):
        self.folder, self.found, self.rows = folder, found, {}
        self.lock = threading.Lock()
        folder.mkdir(parents=True, exist_ok=True)
        before = folder / "gpu_check.json"
        if before.exists():
            known = json.loads(before.read_text())
            if known["machine"] == found:
                self.rows = {r["suite"]: r for r in known["suites"] if r["status"] == "passed"}

    def passed(self, suite: Suite) -> bool:
        return self.rows.get(suite.name, {}).get("status") == "passed"

    def add(self, o: Outcome) -> None:
        with self.lock:
            self.rows[o.suite.name] = row_of(o)
            if o.status == "failed":
                log = "".join(c if c.isalnum() else "_" for c in o.suite.name) + ".log"
                (self.folder / log).write_text(o.output[-400_000:])
            result = {"machine": self.found, "suites": list(self.rows.values())}
            (self.folder / "gpu_check.json").write_text(json.dumps(result, indent=1) + "\n")
            (self.folder / "gpu_check.txt").write_text(self.table())

    def table(self) -> str:
        f = self.found
        lines = [f"{f['gpu']}, driver {f['driver']}, {f['cuda']}, commit {f['commit']}"]
        lines += [
            f"{r['status']:8} {r['seconds']:7.1f} s  {r['suite']:22} {r['closing'][:120]}"
            for r in self.rows.values()
        ]
        return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description="Checks flambeau on the GPU of this machine.")
    parser.add_argument("output", nargs="?", default=str(ROOT / "build" / "gpu_check"))
    parser.add_argument("--build", help="a folder with the library and its tests, built elsewhere")
    parser.add_argument("--device", default="cuda", choices=("cuda", "standin"))
    parser.add_argument("--programs", default="", help="a folder of scripts that import torch")
    parser.add_argument("--only", default="", help="the parts with this in their name")
    options = parser.parse_args()
    start = time.monotonic()
    if options.device == "standin":
        names = {"gpu": "stand-in", "driver": "stand-in", "cuda": "none"} | about()
        found, options.build = names, options.build or str(ROOT / "build" / "cpu")
    else:
        found = machine(builds=not options.build)
    folder = Path(options.build).resolve() if options.build else BUILD
    results = Results(Path(options.output), found)

    def run(suite: Suite) -> bool:
        left = LIMIT - (time.monotonic() - start)
        if left < 5 and not suite.missing:
            suite.missing = f"the {LIMIT:.0f} seconds were used up: call it again"
        outcome = suites.run(suite, left)
        results.add(outcome)
        return outcome.status != "failed"

    if options.build or all(run(suite) for suite in build(found)):
        checks = Checks(folder, options.device)

        def is_due(suite: Suite) -> bool:
            return options.only in suite.name and not results.passed(suite)

        with ThreadPoolExecutor(min(4, len(os.sched_getaffinity(0)))) as pool:
            listed = checks.side_by_side() + checks.programs(options.programs)
            list(pool.map(run, filter(is_due, listed)))
        if is_due(checks.timed()):
            run(checks.timed())
    print(results.table(), end="")
    print(f"{time.monotonic() - start:.0f} s")
    statuses = [row["status"] for row in results.rows.values()]
    return 1 if "failed" in statuses else 0


if __name__ == "__main__":
    sys.exit(main())
