"""An operation that no header declares does not compile: neither its name, misspelt, nor text."""

import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COMPILERS = [c for c in ("g++", "clang++") if shutil.which(c)]

UNIT = """#include "ops/call.h"
namespace flambeau {
void run(const Tensor& a, const Tensor& b, Destination& to) {
  %s
}
}  // namespace flambeau
"""


def compiles(tmp_path, compiler, line):
    source = tmp_path / "unit.cc"
    source.write_text(UNIT % line)
    flags = ["-std=c++20", "-fsyntax-only", f"-I{ROOT / 'lib'}", f"-I{ROOT / 'include'}"]
    ran = subprocess.run([compiler, *flags, str(source)], capture_output=True, text=True)
    return ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_declared_op_compiles(tmp_path, compiler):
    lines = "Call c{op::add, {a, b}}; Call d{op::add.to(to), {a, b}};"
    fine, text = compiles(tmp_path, compiler, lines)
    assert fine, text


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("Call c{op::ad, {a, b}};", "ad"),
        ('Call c{"add", {a, b}};', "Call"),
        ('Call c{Op{"add"}, {a, b}};', "deleted"),  # would be gone before the call
    ],
    ids=["misspelt", "text", "temporary"],
)
def test_another_op_does_not_compile(tmp_path, compiler, line, said):
    fine, text = compiles(tmp_path, compiler, line)
    assert not fine
    assert said in text
