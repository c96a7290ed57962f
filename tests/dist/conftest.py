"""Fixtures of the suite of jobs of several processes."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
for folder in (ROOT, ROOT / "bindings" / "python"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def pytest_configure(config):
    config.addinivalue_line("markers", "waits(jobs, name): asks for a job of `ranks.Waiting`")


def pytest_collection_finish(session):
    """Says which jobs are asked for, so that no other begins."""
    for item in session.items:
        for mark in item.iter_markers("waits"):
            jobs, name = mark.args
            jobs.collected(name)


@pytest.fixture
def launch(tmp_path):
    """Starts launchers, which end with the test."""
    from tests.dist.launching import Launchers

    launchers = Launchers(tmp_path)
    yield launchers
    launchers.end()
