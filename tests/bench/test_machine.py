"""The yardstick of reads keeps its sums in registers: with sums that go to the stack and back, it
measured a third of the bandwidth, and every share of it was three times too good. The compiler's
output says so on every machine, where a clock would depend on what else runs."""

import os
import platform
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("machine.cc")
COMPILER = shlex.split(os.environ.get("CXX") or "g++")  # may have a launcher before it


def body(assembly: str, name: str) -> list[str]:
    """The instructions of the one function with this name in its symbol."""
    found = re.search(rf"^\w*{name}\w*:\n(.*?)^\s+\.cfi_endproc", assembly, re.M | re.S)
    assert found, f"no function {name}"
    return [line.strip() for line in found[1].splitlines() if re.match(r"\s+[a-z]", line)]


pytestmark = [
    pytest.mark.skipif(
        not all(map(shutil.which, COMPILER)), reason="no C++ compiler: CXX names one"
    ),
    pytest.mark.skipif(platform.machine() != "x86_64", reason="reads x86-64's assembly"),
]


@pytest.fixture(scope="module")
def assembly(tmp_path_factory) -> str:
    out = tmp_path_factory.mktemp("machine") / "machine.s"
    command = [*COMPILER, "-std=c++20", "-O2", "-S", "-masm=att", str(SOURCE), "-o", str(out)]
    subprocess.run(command, check=True, timeout=120)
    return out.read_text()


@pytest.mark.parametrize("name", ["read_plain", "read_avx2", "read_avx512"])
def test_reads_store_nothing(assembly, name):
    lines = body(assembly, name)
    reads = [line for line in lines if re.search(r"\(%r[a-z0-9]+.*\), ?%[xyz]mm", line)]
    stores = [line for line in lines if re.search(r"%[xyz]mm\d+, .*\(", line)]
    assert len(reads) >= 4, lines
    assert not stores, stores
