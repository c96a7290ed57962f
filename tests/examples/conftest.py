"""Programs are built once per run of the tests."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import programs  # noqa: E402


@pytest.fixture(scope="session")
def c_digits(tmp_path_factory):
    program = tmp_path_factory.mktemp("c") / "digits"
    return [programs.compile_c(programs.ROOT / "examples/c/digits.c", program)]


@pytest.fixture(scope="session")
def languages(c_digits):
    """The digits program in every language: name and command."""
    found = {"python": programs.python_digits(), "c": c_digits}
    if programs.RUST.exists():
        found["rust"] = programs.rust_digits()
    return found
