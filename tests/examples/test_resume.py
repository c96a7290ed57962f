"""The program that goes on from its last snapshot: killed and started again, by hand or by the
launcher, it prints the losses that it prints when nothing happens."""

import re
import subprocess
import sys

import pytest
from programs import ROOT, environment, python_program, run

SHORT = "--epochs", "4", "--every", "15"


def losses(output):
    """The line of each epoch; where one was printed twice, both."""
    return re.findall(r"^epoch .* loss .*$", output, re.MULTILINE)


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    output = run([*python_program("resume"), "--snapshots", tmp_path_factory.mktemp("w"), *SHORT])
    assert len(losses(output)) == 4 and "begins at step 0 of epoch 1" in output
    assert float(re.search(r"accuracy ([0-9.]+) %", output).group(1)) > 90
    return output


def test_started_again_by_hand(expected, tmp_path):
    command = [*python_program("resume"), "--snapshots", tmp_path, *SHORT]
    ended = subprocess.run(
        [str(c) for c in [*command, "--die-at", "100"]],
        env=environment(), timeout=120, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == -9
    output = run(command)
    assert "begins at step 90 of epoch 2" in output
    assert losses(output) == losses(expected)[1:]
    assert output.splitlines()[-1] == expected.splitlines()[-1]
    again = run(command)
    assert "is finished: " in again and losses(again) == [] and "begins at" not in again


def test_started_again_by_the_launcher(tmp_path):
    script = ROOT / "examples/python/resume.py"
    found = []
    for name, options in (("whole", ()), ("killed", ("--die-at", "100"))):
        launcher = [sys.executable, "-m", "flambeau.distributed.run", "--max-restarts", "1"]
        output = run([*launcher, script, "--snapshots", tmp_path / name, *SHORT, *options])
        found.append(output)
    assert "begins at step 90 of epoch 2" in found[1]
    assert dict.fromkeys(losses(found[1])) == dict.fromkeys(losses(found[0]))
