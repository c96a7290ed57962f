"""The library's symbols: exactly the headers' functions, and nothing needed but the C library."""

import os
import pathlib
import re
import subprocess

import pytest

from tests.harness.loading import needed, why_no_cuda

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LIBRARY = pathlib.Path(os.environ.get("FLAMBEAU_LIBRARY", ROOT / "build" / "libflambeau.so.0"))


@pytest.fixture(scope="module")
def library():
    assert LIBRARY.exists(), f"{LIBRARY} is not built: make build"
    return LIBRARY


def tool(*command):
    return subprocess.run(
        [str(c) for c in command], capture_output=True, text=True, check=True
    ).stdout


def declared():
    """Every function that the headers declare, found without the generator's parser."""
    names = set()
    for header in (ROOT / "include" / "flambeau").glob("*.h"):
        if header.name != "load.h":
            text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.DOTALL)
            names |= set(re.findall(r"FLAM_API\b[^;]*?[\s*](flam_\w+)\s*\(", text))
    return names


def test_exports_are_the_headers_functions(library):
    rows = [
        line.split()
        for line in tool(
            "nm", "-D", "--defined-only", "--with-symbol-versions", library
        ).splitlines()
    ]
    exported = {name for _, kind, name in rows if kind != "A"}
    assert all("@@FLAMBEAU_0" in name for name in exported), exported
    assert {name.split("@")[0] for name in exported} == declared()
    assert {kind for _, kind, _ in rows} <= {"T", "A"}, "an export is data or weak"


def test_nothing_is_needed_but_the_c_library(library):
    dynamic = tool("readelf", "-d", library)
    assert needed(library) <= {"libc", "libm", "ld-linux-x86-64", "ld-linux-aarch64"}
    assert re.findall(r"SONAME.*\[(.*)\]", dynamic) == ["libflambeau.so.0"]
    assert "NODELETE" in dynamic


def test_it_loads_where_there_is_no_driver_and_no_toolkit(library):
    """With CUDA compiled in, too, whose runtime starts with the library."""
    has_cuda = library.resolve().parent.name == "cuda"
    reason = "there is no NVIDIA driver: libcuda.so.1" if has_cuda else "no CUDA"
    assert reason in why_no_cuda(library)


def test_every_kind_of_callback_slips():
    """A struct of callbacks that the C tests do not know could lose the errors within it."""
    tests = ROOT / "tests" / "capi"
    known = "".join((tests / f"{n}_test.c").read_text() for n in ("slip", "thread_state"))
    kinds = set()
    for header in (ROOT / "include" / "flambeau").glob("*.h"):
        structs = re.findall(r"typedef struct \w+ \{(.*?)\n\} (\w+);", header.read_text(), re.S)
        for body, name in structs:
            if re.search(r"flam_status \(\*\w+\)", body) and header.name != "load.h":
                kinds.add(name)
    assert len(kinds) > 10
    assert not {kind for kind in kinds if not re.search(rf"\b{kind}\b", known)}
