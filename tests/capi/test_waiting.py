"""Operations that read a whole tensor of integers on the host wait for the device that has it, and
their declarations say so: a binding then lets other threads run (FLAM_BLOCKS)."""

import json
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LEDGER = [json.loads(line) for line in (ROOT / "bindings/api.jsonl").read_text().splitlines()]
FUNCTIONS = {line["function"]: line for line in LEDGER if "function" in line}
READING = [p for p in (ROOT / "lib/ops").rglob("*.cc") if "read_integers(" in p.read_text()]


def functions_of(text):
    """Name and body of each function that a file defines outside of classes."""
    return re.findall(r"^\w[\w:<>,&* ]* (\w+)\([^;{}]*\) \{\n(.*?)^\}", text, re.M | re.S)


def readers_of(text):
    """The library's functions in a file that read integers, themselves or by others of the file."""
    functions, reading = functions_of(text), {"read_integers"}
    for _ in functions:
        calls = re.compile(rf"\b({'|'.join(reading)})\(")
        reading |= {name for name, body in functions if calls.search(body)}
    return [f"flam_{name}" for name in sorted(reading) if f"flam_{name}" in FUNCTIONS]


@pytest.mark.parametrize("path", READING, ids=lambda p: p.stem)
def test_what_reads_on_the_host_says_that_it_waits(path):
    readers = readers_of(path.read_text())
    assert readers and [name for name in readers if not FUNCTIONS[name].get("blocks")] == []
