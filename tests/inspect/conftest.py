"""The build whose kernels are inspected, once for all tests, and the table of them at the end."""

from __future__ import annotations

import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "inspect"))
import compiled_kernels  # noqa: E402

FOUND = pytest.StashKey()


@pytest.fixture(scope="session")
def build():
    return ROOT / "build" / (ROOT / "build" / "preset").read_text().strip()


@pytest.fixture(scope="session")
def found(build, pytestconfig):
    kernels = compiled_kernels.of_build(build)
    pytestconfig.stash[FOUND] = kernels
    return kernels


def pytest_terminal_summary(terminalreporter, config):
    for line in compiled_kernels.table(config.stash.get(FOUND, {})):
        terminalreporter.write_line(line)
