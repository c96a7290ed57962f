"""The check on a GPU, over the stand-ins: what passed, failed, did not run or was waived stands in
its JSON and its exit status, and a second call goes on with what has not passed.
"""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / (ROOT / "build" / "preset").read_text().strip()
sys.path[:0] = [str(ROOT / "tests" / "gpu_check"), str(ROOT / "tests")]
import parts  # noqa: E402
import run  # noqa: E402
import suites  # noqa: E402

SANITIZER = """#!/bin/sh
echo "$2" >> "$CALLS"
[ "$3 $4 $5 $6" = "--error-exitcode 9 --target-processes all" ] || exit 1
[ "$2" != racecheck ] || exit 9
shift 6
exec "$@"
"""

pytestmark = pytest.mark.skipif(
    not (BUILD / "standin" / "libflambeau.so.0").exists(), reason="built without the stand-ins"
)


def check(output, *options, **environment):
    """Exit status, statuses by part, and what was printed."""
    command = [sys.executable, ROOT / "tests/gpu_check/run.py", output]
    command += ["--device", "standin", "--build", BUILD, *options]
    done = subprocess.run(
        [str(c) for c in command], capture_output=True, text=True, env=os.environ | environment
    )
    written = output / "gpu_check.json"
    rows = json.loads(written.read_text())["suites"] if written.exists() else []
    return done.returncode, {r["suite"]: r for r in rows}, done.stdout + done.stderr


def statuses(rows):
    return {name: row["status"] for name, row in rows.items()}


def test_what_passed_is_not_run_again(tmp_path):
    only = ("--only", "seeds", "--only", "standin, c")
    status, rows, said = check(tmp_path, *only)
    assert status == 0, said
    assert statuses(rows) == {"seeds on standin": "passed", "examples on standin, c": "passed"}
    assert "passed" in (tmp_path / "gpu_check.txt").read_text()
    again = check(tmp_path, *only)
    assert again[0] == 0 and again[1] == rows  # to the tenth of a second: nothing ran


def test_what_did_not_run_is_no_success(tmp_path):
    only, absent = ("--only", "beside PyTorch 1/4"), {"TORCH_PYTHON": "/nowhere/python"}
    status, rows, said = check(tmp_path, *only, **absent)
    assert status == run.INCOMPLETE, said
    assert statuses(rows) == {"beside PyTorch 1/4": "not run"}
    assert "no PyTorch in /nowhere/python" in said and "1 not run" in said
    status, rows, said = check(tmp_path, *only, "--without", "PyTorch", **absent)
    assert status == 0 and statuses(rows) == {"beside PyTorch 1/4": "waived"}, said


def test_a_failure_is_told_with_its_output(tmp_path):
    scripts, found = tmp_path / "scripts", tmp_path / "found"
    scripts.mkdir()
    (scripts / "unlucky.py").write_text("import torch\nprint(torch.ones(2) @ torch.ones(3))\n")
    status, rows, said = check(found, "--programs", scripts, "--only", "unlucky")
    assert status == run.FAILED and statuses(rows) == {"unlucky": "failed"}, said
    assert "matmul(input: f32[2]" in (found / "unlucky.log").read_text()


def test_a_part_that_does_not_exist_is_an_error(tmp_path):
    for option in "--only", "--without":
        status, rows, said = check(tmp_path, option, "sedes")
        assert status and not rows and "seeds on standin" in said, said


def test_what_the_time_was_too_short_for_is_gone_on_with(tmp_path):
    status, rows, said = check(tmp_path, "--only", "seeds", "--limit", "0.5")
    assert status == run.INCOMPLETE and "call it again" in said, said
    status, rows, said = check(tmp_path, "--only", "seeds")
    assert status == 0 and statuses(rows) == {"seeds on standin": "passed"}, said


def test_a_part_has_failed_that_half_of_the_time_is_not_enough_for():
    sleeps = suites.Suite("sleeps", [sys.executable, "-c", "import time; time.sleep(60)"])
    found = run.Clock(2.0).run(sleeps)
    assert found.status == "failed" and "half of --limit" in found.closing, found.closing
    clock = run.Clock(4.0)
    clock.start -= 2.8  # others have used it
    found = clock.run(sleeps)
    assert found.status == "not run" and "call it again" in found.closing, found.closing


def test_sanitizers_see_rows_of_the_table_on_the_device(tmp_path):
    program = tmp_path / "compute-sanitizer"
    program.write_text(SANITIZER)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    calls = tmp_path / "calls"
    env = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "CALLS": str(calls)}
    only = [f"--only=sanitizer: {tool}, rows" for tool in ("memcheck", "racecheck")]
    status, rows, said = check(tmp_path / "found", *only, **env)
    assert status == run.FAILED, said
    for number, names in enumerate(parts.ROWS, 1):
        passed = rows[f"sanitizer: memcheck, rows {number}/{len(parts.ROWS)}"]
        assert passed["closing"].startswith(f"{len(names.split())} passed"), passed
        assert rows[f"sanitizer: racecheck, rows {number}/{len(parts.ROWS)}"]["status"] == "failed"
    assert sorted(calls.read_text().split()) == ["memcheck"] * 2 + ["racecheck"] * 2


def test_parts_are_the_whole(tmp_path):
    tests = ["-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", "tests/seeds"]
    whole = suites.Suite("whole", [sys.executable, *tests], count=2)
    found = [
        {line for line in suites.run(suite).output.splitlines() if "::" in line}
        for suite in [*whole.parts(), suites.replace(whole, count=1)]
    ]
    assert found[0] and found[1] and not found[0] & found[1]
    assert found[0] | found[1] == found[2]


def test_the_build_is_that_of_a_release():
    """nvcc's host code is optimised as the preset says, and nothing overrides it."""
    presets = json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]
    (cuda,) = [p for p in presets if p["name"] == "cuda"]
    assert "-O2" in cuda["cacheVariables"]["CMAKE_CUDA_FLAGS"]
    configure = run.build({"nvcc": "/usr/bin/nvcc", "capability": "9.0"})[0].command
    assert configure[:3] == ["cmake", "--preset", "cuda"]
    assert "-DCMAKE_CUDA_ARCHITECTURES=90-real" in configure
    assert not [o for o in configure if "FLAGS" in o or "OPTIMIZE" in o or "BUILD_TYPE" in o]
