"""The example programs as commands: Python's script, the C programs compiled as a user would, and
Rust's where it is there. All of them open the library of the last build.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "examples" / "data" / "digits.safetensors"
RUST = ROOT / "examples" / "rust"
STRICT = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O1"]


def library() -> str:
    return os.environ.get("FLAMBEAU_LIBRARY") or str(ROOT / "build" / "libflambeau.so.0")


def environment(**more: str) -> dict[str, str]:
    base = {k: v for k, v in os.environ.items() if k != "FLAMBEAU_SIM"}
    return (
        base | {"FLAMBEAU_LIBRARY": library(), "PYTHONPATH": str(ROOT / "bindings/python")} | more
    )


def run(command: list, *, fails: bool = False, **env: str) -> str:
    """What a program prints; its errors where it is to fail."""
    done = subprocess.run(
        [str(c) for c in command],
        cwd=ROOT,
        env=environment(**env),
        capture_output=True,
        text=True,
        errors="replace",  # bytes that a model has written
        timeout=600,
        check=False,
    )
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return done.stderr if fails else done.stdout


def compile_c(source: Path, program: Path) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc")
    assert compiler, "no C compiler"
    run([compiler, *STRICT, f"-I{ROOT / 'include'}", source, "-ldl", "-lm", "-o", program])
    return program


def python_program(name: str) -> list:
    return [sys.executable, ROOT / "examples/python" / f"{name}.py"]


def python_digits() -> list:
    return python_program("digits")


def rust_program(name: str) -> list:
    target, manifest = ROOT / "build" / "rust", RUST / name / "Cargo.toml"
    options = ["--locked", "--release", "--manifest-path", manifest, "--target-dir", target]
    run(["cargo", "build", *options])
    return [target / "release" / name]


def accuracy(output: str) -> float:
    return float(re.search(r"held-out accuracy ([0-9.]+) %", output).group(1))
