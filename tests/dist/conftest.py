"""Fixtures of the suite of jobs of several processes."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
for folder in (ROOT, ROOT / "bindings" / "python"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


@pytest.fixture
def launch(tmp_path):
    """Starts launchers, which end with the test."""
    from tests.dist.launching import Launchers

    launchers = Launchers(tmp_path)
    yield launchers
    launchers.end()
