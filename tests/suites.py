"""Every suite of the repository as one table: what runs it, on which device, and what it needs.
`make test` and the check on a machine with a GPU walk the same table.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SIM = "devices=2,memory=256MiB,as=cuda"
STANDIN = "devices=2,memory=256MiB"  # what is simulated lies below CUDA's calls

# What changes outcomes, and is the user's own: how GPUs' memory is kept and launches wait, checks,
# colours, what Python makes of warnings, and the language of other programs' messages.
USERS = (
    *("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF"),
    *("CUDA_LAUNCH_BLOCKING", "FLAMBEAU_ALLOC_CONF", "FLAMBEAU_LAUNCH_BLOCKING", "FLAMBEAU_CHECK"),
    *("NO_COLOR", "FORCE_COLOR", "PYTHONWARNINGS", "PYTEST_ADDOPTS", "LANG", "LANGUAGE"),
)


def environment() -> dict[str, str]:
    """The caller's, without that and in no language."""
    kept = {k: v for k, v in os.environ.items() if k not in USERS and not k.startswith("LC_")}
    return kept | {"LC_ALL": "C.UTF-8"}


@dataclass
class Suite:
    name: str
    command: list[str]
    env: dict[str, str] = field(default_factory=dict)
    cwd: Path = ROOT
    missing: str = ""  # why it cannot run here


@dataclass
class Outcome:
    suite: Suite
    status: str  # passed, failed, not run
    seconds: float
    closing: str  # the runner's own last line
    output: str = ""


def missing_modules(*names: str) -> str:
    absent = [n for n in names if importlib.util.find_spec(n) is None]
    return f"Python packages not installed: {', '.join(absent)}" if absent else ""


def pytest(
    name: str, folders: list[str], *options: str, env: dict[str, str] | None = None, needs=()
) -> Suite:
    there = [f for f in folders if list((ROOT / f).glob("test_*.py"))]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *there, *options]
    missing = "" if there else f"no tests in {', '.join(folders)}"
    return Suite(name, command, env or {}, missing=missing or missing_modules("pytest", *needs))


def library_of(build: Path, device: str) -> dict[str, str]:
    folder = build / ("standin" if device == "standin" else ".")
    return {"FLAMBEAU_LIBRARY": str(folder / "libflambeau.so.0")}


def python_suites(build: Path, device: str) -> list[Suite]:
    """The op table and the Python package on one device: cpu, sim, cuda, or standin, where a
    stand-in for CUDA's runtime and libraries runs the provider and the kernels on the CPU.
    """
    ops = library_of(build, device)
    package = dict(ops)
    if device == "sim":
        package["FLAMBEAU_SIM"] = SIM
    if device == "standin":
        package["FLAMBEAU_SIM"] = ops["FLAMBEAU_SIM"] = STANDIN
    option = f"--device={device}"
    return [
        pytest(
            f"ops on {device}", ["tests/ops"], option, env=ops, needs=("cffi", "numpy", "scipy")
        ),
        pytest(
            f"python on {device}",
            ["tests/python"],
            option,
            env=package,
            needs=("cffi", "numpy", "scipy"),
        ),
    ]


def cuda12(build: Path) -> Suite:
    """The oldest CUDA that the sources serve."""
    suite = pytest("CUDA 12.9", ["tests/cuda12"])
    missing = "" if build.name == "cuda" else "this build has no CUDA"
    return replace(suite, missing=suite.missing or missing)


def extreme(build: Path, device: str) -> Suite:
    """Every exported function with arguments that no program should pass."""
    name = f"extreme arguments on {device}"
    return pytest(name, ["tests/extreme"], f"--device={device}", env=library_of(build, device))


def instruction_sets(build: Path) -> list[Suite]:
    """How exact numbers are on older processors: releases hold three builds of each kernel."""
    missing = "" if build.name in ("cpu", "cuda") else "this build has one instruction set"
    suites = []
    for isa in ("sse2", "avx2"):
        env = {"FLAMBEAU_LIBRARY": str(build / "libflambeau.so.0"), "FLAMBEAU_ISA": isa}
        only = ("--device=cpu", "-k", "test_precision")
        needs = ("cffi", "numpy", "scipy")
        suite = pytest(f"precision on {isa}", ["tests/ops"], *only, env=env, needs=needs)
        suites.append(replace(suite, missing=suite.missing or missing))
    return suites


def ctest(build: Path, name: str = "C++ and C") -> Suite:
    program = shutil.which(
        "ctest", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    )
    missing = "" if program else "ctest is not there"
    if not list((build / "tests").glob("*_test")):
        missing = "no tests were built: GoogleTest (libgtest-dev) is not there"
    return Suite(
        name, [program or "ctest", "--test-dir", str(build), "--output-on-failure"], missing=missing
    )


def rust(build: Path) -> list[Suite]:
    """The crates as they open the library, with the oldest compiler (Debian's), and linked; their
    documentation.
    """
    workspace = ROOT / "bindings" / "rust"
    test = ["test", "--locked", "--workspace"]
    linked = "test --locked -p flambeau --no-default-features --features link --test errors".split()
    docs = ["doc", "--locked", "--workspace", "--no-deps"]

    def suite(name: str, cargo: str, arguments: list[str], missing: str, **more: str) -> Suite:
        target = ROOT / "build" / name.replace(" ", "-")
        env = {"FLAMBEAU_LIBRARY": str(build / "libflambeau.so.0"), "CARGO_TARGET_DIR": str(target)}
        return Suite(name, [cargo, *arguments], {**env, **more}, workspace, missing)

    missing = "" if shutil.which("cargo") else "cargo is not there: apt-get install cargo"
    debian = (
        "" if os.access("/usr/bin/rustc", os.X_OK) else "no /usr/bin/cargo: apt-get install cargo"
    )
    oldest = {"RUSTC": "/usr/bin/rustc", "RUSTDOC": "/usr/bin/rustdoc"}
    over = {
        "CARGO_TARGET_DIR": str(ROOT / "build" / "rust"),
        "FLAMBEAU_LIBRARY": str(build / "standin" / "libflambeau.so.0"),
        "FLAMBEAU_TEST_DEVICE": "cuda",
        "FLAMBEAU_SIM": "devices=2,memory=64MiB",
    }
    found = {"FLAMBEAU_LIB_DIR": str(build), "LD_LIBRARY_PATH": str(build)}
    return [
        suite("rust", "cargo", test, missing),
        suite("rust on standin", "cargo", [*test, "--tests"], missing, **over),
        suite("rust oldest", "/usr/bin/cargo", test, debian, **oldest),
        suite("rust linked", "cargo", linked, missing, **found),
        suite("rust docs", "cargo", docs, missing, RUSTDOCFLAGS="-D warnings"),
    ]


def abi() -> Suite:
    """Today's headers against the last release's stored ABI: nothing that a program uses may be
    gone.
    """
    missing = "" if shutil.which("abidiff") else "abidiff (apt package abigail-tools) is not there"
    return Suite("ABI", [sys.executable, "tests/capi/abi.py"], missing=missing)


def run(suite: Suite, timeout: float | None = None) -> Outcome:
    if suite.missing:
        return Outcome(suite, "not run", 0.0, suite.missing)
    start = time.monotonic()
    process = subprocess.Popen(
        suite.command,
        cwd=suite.cwd,
        env=environment() | suite.env,
        text=True,
        errors="replace",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,  # so that what it started ends with it
    )
    try:
        output, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        output += f"\nfailed: not done after {timeout:.0f} s"
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    last = lines[-1] if lines else ""
    telling = ("test result:", "tests passed", " passed", "failed", " error")
    closing = next((line for line in reversed(lines) if any(t in line for t in telling)), last)
    status = "passed" if process.returncode == 0 else "failed"
    nothing_ran = process.returncode == 5 and "pytest" in suite.command
    closing = "pytest found no tests" if nothing_ran else closing
    return Outcome(suite, status, time.monotonic() - start, closing, output)
