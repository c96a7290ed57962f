"""The rule on the shape of files sees code by its ending, and CMake's lists by their name."""

import importlib.util
from pathlib import Path

import pytest

_SPEC = importlib.util.spec_from_file_location("shape", Path(__file__).with_name("shape.py"))
rule = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(rule)


@pytest.mark.parametrize("name", ["CMakeLists.txt", "tests.cmake", "a.py", "notes.txt"])
def test_lines_are_no_wider_than_the_limit(tmp_path, name):
    (tmp_path / name).write_text("# What it is.\n# " + "x" * rule.COLUMNS + "\n")
    wide = [] if name == "notes.txt" else [f"{name}:2: 102 columns; 100 is the limit"]
    assert rule.check(tmp_path, [Path(name)]) == wide
