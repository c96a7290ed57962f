"""The ABI that programs were compiled against, and today's: no function, type, field or number of
the last release may be gone or changed. Both are read from a library that holds the headers'
functions with empty bodies and debug information, which a release lacks; that the library itself
exports exactly the headers' functions is test_exports.py's.

    abi.py            compares with tests/golden/libflambeau.abi; status 1 where it is broken
    abi.py --store    stores today's, and the C tests with their headers (test_abi.py), when a
                      release is made
"""

from __future__ import annotations

import pathlib
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include"
STORED = ROOT / "tests" / "golden" / "libflambeau.abi"
PROGRAMS = ROOT / "tests" / "golden" / "programs.tar.xz"
# Structs that begin with their size may grow.
MAY_GROW = "[suppress_type]\n  type_kind = struct\n  has_data_member_inserted_at = end\n"
sys.path.insert(0, str(ROOT / "bindings" / "generate"))


def declarations(include: pathlib.Path) -> list[str]:
    from emit_ledger import prototype
    from headers import read

    api = read(include)
    functions = [
        prototype(f) + (" {}" if f.result["kind"] == "void" else " { return 0; }")
        for f in api.functions
    ]
    # Numbers are no part of a function's type: each is a symbol named after it.
    numbers = (v for e in api.enums for v in e["values"])
    named = (f"{v['name']}_{v['value']}".replace("-", "minus_") for v in numbers)
    return functions + [f"void {name}(void) {{}}" for name in named]


def hollow(include: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """A library with every function of the headers and nothing in them."""
    source, library = folder / "hollow.c", folder / "libflambeau.so.0"
    lines = ["#include <flambeau/flambeau.h>", *declarations(include)]
    source.write_text("\n".join(lines) + "\n")
    options = ["-std=c99", "-g", "-w", "-shared", "-fPIC", f"-Wl,-soname,{library.name}"]
    subprocess.run(["cc", *options, f"-I{include}", "-o", library, source], check=True)
    return library


def store(stored: pathlib.Path = STORED, include: pathlib.Path = INCLUDE) -> None:
    quiet = ["--no-corpus-path", "--no-comp-dir-path", "--no-show-locs"]
    with tempfile.TemporaryDirectory() as folder:
        library = hollow(include, pathlib.Path(folder))
        subprocess.run(["abidw", *quiet, "--out-file", stored, library], check=True)


def store_programs() -> None:
    tests = ROOT / "tests" / "capi"
    files = [*INCLUDE.glob("flambeau/*.h"), *tests.glob("*_test.c"), *tests.glob("*.h")]
    with tarfile.open(PROGRAMS, "w:xz") as archive:
        for path in sorted(files):
            entry = tarfile.TarInfo(str(path.relative_to(ROOT)))
            entry.size = path.stat().st_size  # and no times and owners
            with path.open("rb") as content:
                archive.addfile(entry, content)


def compare(include: pathlib.Path = INCLUDE, stored: pathlib.Path = STORED) -> int:
    with tempfile.TemporaryDirectory() as folder:
        library = hollow(include, pathlib.Path(folder))
        suppressions = pathlib.Path(folder) / "may_grow.suppr"
        suppressions.write_text(MAY_GROW)
        command = ["abidiff", "--no-added-syms", "--suppressions", suppressions, stored, library]
        return subprocess.run(command).returncode


if __name__ == "__main__":
    if sys.argv[1:] == ["--store"]:
        store()
        store_programs()
    else:
        sys.exit(compare())
