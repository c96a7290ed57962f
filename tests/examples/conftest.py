"""Programs are built once per run of the tests."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import programs  # noqa: E402


def in_every_language(name, folder):
    """An example program's commands, by language."""
    c = programs.compile_c(programs.ROOT / f"examples/c/{name}.c", folder / name)
    found = {"python": programs.python_program(name), "c": [c]}
    if (programs.RUST / name).exists():
        found["rust"] = programs.rust_program(name)
    return found


@pytest.fixture(scope="session")
def languages(tmp_path_factory):
    """The digits program in every language: name and command."""
    return in_every_language("digits", tmp_path_factory.mktemp("digits"))


@pytest.fixture(scope="session")
def writers(tmp_path_factory):
    """The program that learns to write, in every language: name and command."""
    return in_every_language("chars", tmp_path_factory.mktemp("chars"))
