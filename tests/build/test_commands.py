"""How the last build compiled: no object of a release is without optimisation, in any language. A
compiler that drives another one, as nvcc does, has defaults of its own for the code of the host."""

import json
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_every_object_is_optimised():
    built = ROOT / "build/preset"
    preset = built.read_text().strip() if built.exists() else ""
    if preset not in ("cpu", "cuda"):
        pytest.skip(f"no release is built, but {preset or 'nothing'}: make build")
    commands = json.loads((ROOT / "build" / preset / "compile_commands.json").read_text())
    assert len(commands) > 100
    plain = [c["file"] for c in commands if not re.search(r" -O[123s]( |$)", c["command"])]
    assert plain == []
