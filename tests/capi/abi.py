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
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include"
STORED = ROOT / "tests" / "golden" / "libflambeau.abi"
PROGRAMS = ROOT / "tests" / "golden" / "programs.tar.xz"
# Structs that begin with their size may grow, as `grown` allows.
MAY_GROW = "[suppress_type]\n  type_kind = struct\n  has_data_member_inserted_at = end\n"
sys.path.insert(0, str(ROOT / "bindings" / "generate"))


def read(include: pathlib.Path):
    import headers

    return headers.read(include)


def declarations(api) -> list[str]:
    from emit_ledger import prototype

    functions = [
        prototype(f) + (" {}" if f.result["kind"] == "void" else " { return 0; }")
        for f in api.functions
    ]
    # Numbers are no part of a function's type: each is a symbol named after it.
    numbers = (v for e in api.enums for v in e["values"])
    named = (f"{v['name']}_{v['value']}".replace("-", "minus_") for v in numbers)
    return functions + [f"void {name}(void) {{}}" for name in named]


def hollow(api, include: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """A library with every function of the headers and nothing in them."""
    source, library = folder / "hollow.c", folder / "libflambeau.so.0"
    lines = ["#include <flambeau/flambeau.h>", *declarations(api)]
    source.write_text("\n".join(lines) + "\n")
    options = ["-std=c99", "-g", "-w", "-shared", "-fPIC", f"-Wl,-soname,{library.name}"]
    # From its folder, whose name would else be stored.
    command = ["cc", *options, f"-I{include}", "-o", library, source.name]
    subprocess.run(command, cwd=folder, check=True)
    return library


def store(stored: pathlib.Path = STORED, include: pathlib.Path = INCLUDE) -> None:
    quiet = ["--no-corpus-path", "--no-comp-dir-path", "--no-show-locs"]
    with tempfile.TemporaryDirectory() as folder:
        library = hollow(read(include), include, pathlib.Path(folder))
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


def grown(api, stored: pathlib.Path):
    """What is wrong with fields behind those of the stored structs. An older library takes them
    where all their bytes are zero, which then has to be what leaves everything as it was."""
    zeros = {v["name"] for e in api.enums for v in e["values"] if v["value"] == 0} | {"0", "NULL"}
    known = {}
    for c in ElementTree.parse(stored).iter("class-decl"):
        known[c.get("name")] = {v.get("name") for v in c.iterfind("data-member/var-decl")}
    for s in (s for s in api.structs if s["name"] in known):
        params = {p.name: p for p in s["params"]}
        offsets, end = s["layout"]["offsets"], 0
        for f in s["fields"]:
            new = f["name"] not in known[s["name"]]
            where, p = f"{s['name']}.{f['name']}", params.get(f["name"])
            if new and offsets[f["name"]] != end:
                yield f"{where}: {offsets[f['name']] - end} bytes of padding before it; reorder"
            if new and p and not p.count_of and p.default not in zeros:
                yield f"{where}: its default is {p.default}; name the option so that it is 0"
            end = offsets[f["name"]] + s["layout"]["sizes"][f["name"]]


def compare(include: pathlib.Path = INCLUDE, stored: pathlib.Path = STORED) -> int:
    api = read(include)
    faults = list(grown(api, stored))
    print(*faults, sep="\n", end="\n" * bool(faults))
    with tempfile.TemporaryDirectory() as folder:
        library = hollow(api, include, pathlib.Path(folder))
        suppressions = pathlib.Path(folder) / "may_grow.suppr"
        suppressions.write_text(MAY_GROW)
        command = ["abidiff", "--no-added-syms", "--suppressions", suppressions, stored, library]
        return subprocess.run(command).returncode or len(faults)


if __name__ == "__main__":
    if sys.argv[1:] == ["--store"]:
        store()
        store_programs()
    else:
        sys.exit(compare())
