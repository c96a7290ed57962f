"""How the last build compiled: no object of a release is without optimisation, in any language, and
where CI asks for it no warning passes. A compiler that drives another one, as nvcc does, has
defaults of its own for the code of the host. Who builds the library alone, as `make demo` and
`make install` do, has the adaptors that it opens, too."""

import json
import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def release():
    built = ROOT / "build/preset"
    preset = built.read_text().strip() if built.exists() else ""
    if preset not in ("cpu", "cuda"):
        pytest.skip(f"no release is built, but {preset or 'nothing'}: make build")
    return ROOT / "build" / preset


@pytest.fixture(scope="module")
def commands(release):
    found = json.loads((release / "compile_commands.json").read_text())
    assert len(found) > 100
    return found


def test_every_object_is_optimised(commands):
    plain = [c["file"] for c in commands if not re.search(r" -O[123s]( |$)", c["command"])]
    assert plain == []


def test_warnings_are_errors_where_that_is_asked_for(commands):
    assert "FLAM_WERROR=ON" in (ROOT / ".ci/run").read_text()
    if os.environ.get("FLAM_WERROR") != "ON":
        pytest.skip("FLAM_WERROR=ON is not asked for, as .ci/run does")
    ours = [c for c in commands if pathlib.Path(c["file"]).is_relative_to(ROOT / "lib")]
    strict = re.compile(r" (-Werror|--Werror=all-warnings) ")
    assert len(ours) > 100 and [c["file"] for c in ours if not strict.search(c["command"])] == []


def test_what_is_installed_is_built_with_the_library(release):
    def sources(target):
        ninja = [ROOT / ".venv/bin/ninja", "-C", release, "-t", "inputs", target]
        found = subprocess.run(ninja, capture_output=True, text=True, timeout=60, check=True)
        return {line for line in found.stdout.splitlines() if line.endswith(".cc")}

    steps = (release / "cmake_install.cmake").read_text()
    installed = re.findall(rf'"{re.escape(str(release))}/(lib[^"/]+\.so[^"/]*)"', steps)
    made = sources("flambeau")
    assert "libflambeau.so.0" in installed
    assert {name: sources(name) - made for name in installed if sources(name) - made} == {}
