"""Suites run alike for everybody, whatever the caller's shell has set."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
import suites  # noqa: E402

TELLS = """
import os
asked = os.environ["ASKED"].split()
print({k: os.environ[k] for k in sorted(asked) if k in os.environ})
"""


def test_what_users_set_reaches_no_suite(monkeypatch):
    users = [*suites.USERS, "LC_ALL", "LC_MESSAGES"]
    for name in users:
        monkeypatch.setenv(name, "1")
    own = {"ASKED": " ".join(users), "FLAMBEAU_ALLOC_CONF": "expandable_segments:True"}
    suite = suites.Suite("tells", [sys.executable, "-c", TELLS], own)
    told = {"FLAMBEAU_ALLOC_CONF": "expandable_segments:True", "LC_ALL": "C.UTF-8"}
    assert suites.run(suite).output == f"{told}\n"
