"""Suites run alike for everybody, whatever the caller's shell has set, and each of them ends."""

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


HANGS = """
import time

def test_hangs():
    time.sleep(60)
"""


def test_a_suite_that_hangs_says_where(tmp_path):
    (tmp_path / "test_it.py").write_text(HANGS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"]
    outcome = suites.run(suites.Suite("hangs", command, cwd=tmp_path), timeout=3)
    assert outcome.cut and outcome.status == "not run" and outcome.seconds < 30
    assert "in test_hangs" in outcome.output


def test_what_a_suite_leaves_behind_holds_nobody_up():
    leaves = "import subprocess; subprocess.Popen(['sleep', '60'], start_new_session={})"
    for own_session in (True, False):
        command = [sys.executable, "-c", leaves.format(own_session)]
        outcome = suites.run(suites.Suite("leaves", command))
        assert outcome.status == "passed" and outcome.seconds < 30
