"""The check for a machine with a GPU, over the stand-ins: what it writes, how it ends, and that a
second call goes on where the first one stopped.
"""

import json
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / (ROOT / "build/preset").read_text().strip()
FAILED, INCOMPLETE = 1, 3

pytestmark = pytest.mark.skipif(
    not (FOLDER / "standin").is_dir(), reason=f"{FOLDER.name} was built without the stand-ins"
)


@pytest.fixture
def check(tmp_path):
    def call(*options):
        command = [sys.executable, ROOT / "tests/gpu_check/run.py", tmp_path / "found", *options]
        command += ["--device", "standin", "--build", FOLDER]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        written = tmp_path / "found/gpu_check.json"
        rows = json.loads(written.read_text())["suites"] if written.exists() else []
        return done, {row["suite"]: row for row in rows}

    return call


def test_what_passed_is_written_down_and_not_run_again(check):
    first, rows = check("--only", "seeds")
    assert first.returncode == 0, first.stdout + first.stderr
    assert [row["status"] for row in rows.values()] == ["passed"]
    assert rows["seeds on standin"]["closing"] in first.stdout
    again, same = check("--only", "seeds")
    assert again.returncode == 0 and same == rows  # the seconds are the first run's


def test_what_is_not_run_is_no_success_unless_it_was_waived(check):
    done, rows = check("--only", "seeds", "--limit", "0.5")
    assert done.returncode == INCOMPLETE and "call it again" in done.stdout
    assert [row["status"] for row in rows.values()] == ["not run"]
    done, rows = check("--only", "seeds", "--without", "seeds")
    assert done.returncode == 0 and "left out as the caller asked" in done.stdout
    assert [row["status"] for row in rows.values()] == ["waived"]
    done, rows = check("--only", "seeds")  # what was waived has not passed
    assert done.returncode == 0 and [row["status"] for row in rows.values()] == ["passed"]


def test_a_failure_is_told_with_its_output(check, tmp_path):
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    (scripts / "unlucky.py").write_text("import torch\nprint(torch.ones(2) @ torch.ones(3))\n")
    done, rows = check("--programs", scripts, "--only", "unlucky")
    assert done.returncode == FAILED and rows["unlucky"]["status"] == "failed"
    assert "matmul(input: f32[2]" in (tmp_path / "found/unlucky.log").read_text()


@pytest.mark.parametrize("option", ["--only", "--without"])
def test_a_word_that_names_no_part_is_refused(check, option):
    done, rows = check(option, "nonsense")
    assert done.returncode not in (0, INCOMPLETE) and not rows
    assert f"{option} nonsense: no part has this in its name" in done.stderr
    for part in "C++ and C 1/2", "beside PyTorch 4/4", "sanitizer: racecheck, rows 1/2", "speed":
        assert f"  {part}\n" in done.stderr
