"""The ABI that programs were compiled against, and today's: no function, type, field or number of
the last release may be gone or changed. Both are read from libraries that hold the headers'
functions with empty bodies and debug information, which a release lacks; that the library itself
exports exactly the headers' functions is test_exports.py's.

    abi.py            compares with the release in tests/golden; status 1 where it is broken
    abi.py --store    stores today's headers, the C tests (test_abi.py) and the empty bodies, when
                      a release is made
"""

from __future__ import annotations

import io
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include"
RELEASE = ROOT / "tests" / "golden" / "release.tar.xz"
# Structs that begin with their size may grow, as `grown` allows.
MAY_GROW = (
    "[suppress_type]\n  type_kind = struct\n  has_data_member_inserted_at = end\n"
    "  has_size_change = yes\n"  # libabigail 2.3 and newer ask for it
)
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


def hollow_source(api) -> str:
    return "\n".join(["#include <flambeau/flambeau.h>", *declarations(api)]) + "\n"


def hollow(source: pathlib.Path, include: pathlib.Path) -> pathlib.Path:
    """A library beside the source, with every function of the headers and nothing in them."""
    library = source.parent / "libflambeau.so.0"
    options = ["-std=c99", "-g", "-w", "-Wno-int-conversion", "-shared", "-fPIC"]
    options += [f"-Wl,-soname,{library.name}"]
    subprocess.run(["cc", *options, f"-I{include}", "-o", library, source], check=True)
    return library


def store(release: pathlib.Path = RELEASE, include: pathlib.Path = INCLUDE) -> None:
    tests = ROOT / "tests" / "capi"
    files = {f"include/flambeau/{h.name}": h.read_bytes() for h in include.glob("flambeau/*.h")}
    for path in [*tests.glob("*_test.c"), *tests.glob("*.h")]:
        files[str(path.relative_to(ROOT))] = path.read_bytes()
    files["hollow.c"] = hollow_source(read(include)).encode()
    with tarfile.open(release, "w:xz") as archive:
        for name in sorted(files):
            entry = tarfile.TarInfo(name)  # without times and owners
            entry.size = len(files[name])
            archive.addfile(entry, io.BytesIO(files[name]))


def fields(library: pathlib.Path) -> dict[str, set]:
    """The fields of each struct."""
    described = library.with_suffix(".abi")
    subprocess.run(["abidw", "--out-file", described, library], check=True)
    return {
        c.get("name"): {v.get("name") for v in c.iterfind("data-member/var-decl")}
        for c in ElementTree.parse(described).iter("class-decl")
    }


def grown(api, known: dict[str, set]):
    """What is wrong with fields behind those of the released structs. An older library takes them
    where all their bytes are zero, which then has to be what leaves everything as it was."""
    zeros = {v["name"] for e in api.enums for v in e["values"] if v["value"] == 0} | {"0", "NULL"}
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


def compare(include: pathlib.Path = INCLUDE, release: pathlib.Path = RELEASE) -> int:
    api = read(include)
    with tempfile.TemporaryDirectory() as folder:
        then, now = pathlib.Path(folder, "then"), pathlib.Path(folder, "now")
        with tarfile.open(release) as archive:
            archive.extraction_filter = getattr(tarfile, "data_filter", None)
            archive.extractall(then)
        released = hollow(then / "hollow.c", then / "include")
        faults = list(grown(api, fields(released)))
        print(*faults, sep="\n", end="\n" * bool(faults))
        now.mkdir()
        (now / "hollow.c").write_text(hollow_source(api))
        (now / "may_grow.suppr").write_text(MAY_GROW)
        options = ["--no-added-syms", "--suppressions", now / "may_grow.suppr"]
        command = ["abidiff", *options, released, hollow(now / "hollow.c", include)]
        return subprocess.run(command).returncode or len(faults)


if __name__ == "__main__":
    if sys.argv[1:] == ["--store"]:
        store()
    else:
        sys.exit(compare())
