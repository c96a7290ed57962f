"""clang-format, ruff and rustfmt over the files that people write; the ABI's headers have a style
of their own beside them.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

TOOLS = Path(sys.executable).parent  # the virtual environment's
C_STYLE = "examples/c/.clang-format"


def tool(name: str) -> str | None:
    own = TOOLS / name
    return str(own) if own.exists() else shutil.which(name)


def run(command: list[str], root: Path) -> list[str]:
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    if done.returncode == 0:
        return []
    lines = (done.stdout + done.stderr).splitlines()
    return [line for line in lines if line.strip()] or [f"{Path(command[0]).name} failed"]


def cpp(root: Path, files: list[Path], fix: bool) -> list[str]:
    program = tool("clang-format")
    if not program:
        return ["clang-format is not there: make setup"]
    command = [program, *(["-i"] if fix else ["--dry-run", "-Werror"])]
    folders = {"lib", "tests", "include"}
    sources = [f for f in files if f.suffix in {".cc", ".h", ".cu"} and f.parts[0] in folders]
    in_c = [f"--style=file:{C_STYLE}", *(f for f in files if f.suffix == ".c")]
    said = run([*command, *map(str, sources)], root) + run([*command, *map(str, in_c)], root)
    return sorted(
        {
            line.split(": error")[0] + ": not formatted (make fmt)"
            for line in said
            if ": error" in line
        }
    )


def python(root: Path, fix: bool) -> list[str]:
    program = tool("ruff")
    if not program:
        return ["ruff is not there: make setup"]
    check = run(
        [program, "check", "--quiet", "--output-format=concise", *(["--fix"] if fix else []), "."],
        root,
    )
    return check + run([program, "format", "--quiet", *([] if fix else ["--check"]), "."], root)


def rust(root: Path, fix: bool) -> list[str]:
    workspace = root / "bindings" / "rust"
    if not (workspace / "Cargo.toml").exists():
        return []
    if not shutil.which("cargo-fmt"):
        print("note: cargo fmt is not there, Rust was not checked for formatting")
        return []
    return run(["cargo", "fmt", "--all", *([] if fix else ["--", "--check", "-l"])], workspace)
