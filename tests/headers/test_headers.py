"""Every header is clean C99 to C23 and C++98 to C++23, for every compiler that is there."""

import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HEADERS = sorted(p.name for p in (ROOT / "include" / "flambeau").glob("*.h"))
FLAGS = [
    "-pedantic-errors",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-fsyntax-only",
    f"-I{ROOT / 'include'}",
]
STANDARDS = ["c99", "c11", "c17", "c2x", "c++98", "c++11", "c++14", "c++17", "c++20", "c++2b"]
COMPILERS = [c for c in ("gcc", "clang") if shutil.which(c)]

LOAD = """#define FLAM_LOAD_IMPLEMENTATION
#include "flambeau/load.h"
int main(void) {
  flam_tensor *y;
  if (flam_library_load(0)) return 1;
  y = flam_relu(0);
  flam_tensor_release(y);
  return flam_error_code() != FLAM_ERROR_INVALID_ARGUMENT;
}
"""


def compile_text(tmp_path, compiler, standard, text):
    language = "c++" if "++" in standard else "c"
    extra = (
        ["-Wstrict-prototypes", "-Wmissing-prototypes"] if language == "c" else ["-Wold-style-cast"]
    )
    if "load.h" in text:
        extra = (
            extra[:1] if language == "c" else []
        )  # its implementation is C that C++ also accepts
    source = tmp_path / "unit"
    source.write_text(text)
    return subprocess.run(
        [compiler, "-x", language, f"-std={standard}", *FLAGS, *extra, str(source)],
        capture_output=True,
        text=True,
    )


def test_a_compiler_is_there():
    assert COMPILERS, "neither gcc nor clang is on PATH"


@pytest.mark.parametrize("standard", STANDARDS)
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(
    "text", ['#include "flambeau/flambeau.h"\ntypedef int unit;\n', LOAD], ids=["all", "load"]
)
def test_everything_in_every_standard(tmp_path, compiler, standard, text):
    result = compile_text(tmp_path, compiler, standard, text)
    assert result.returncode == 0, result.stderr[:4000]


@pytest.mark.parametrize("standard", ["c99", "c++98"])
@pytest.mark.parametrize("header", HEADERS)
def test_each_header_stands_alone(tmp_path, header, standard):
    text = f'#include "flambeau/{header}"\n#include "flambeau/{header}"\ntypedef int unit;\n'
    result = compile_text(tmp_path, COMPILERS[0], standard, text)
    assert result.returncode == 0, result.stderr[:4000]


@pytest.mark.parametrize("compiler", COMPILERS)
def test_the_check_sees_faults(tmp_path, compiler):
    for standard, fault in (
        ("c99", "int f();\n"),
        ("c++98", "enum { A, };\n"),
        ("c2x", "int f(int x) { }\n"),
    ):
        result = compile_text(
            tmp_path, compiler, standard, '#include "flambeau/flambeau.h"\n' + fault
        )
        assert result.returncode != 0, (standard, fault)
