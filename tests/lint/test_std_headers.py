"""The rule on the standard library's headers sees what a file uses, and what its headers bring."""

import importlib.util
from pathlib import Path

import pytest

_SPEC = importlib.util.spec_from_file_location(
    "std_headers", Path(__file__).with_name("std_headers.py")
)
rule = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(rule)


def faults(root, **files):
    paths = []
    for name, text in files.items():
        path = Path("lib/base") / name.replace("_h", ".h").replace("_cc", ".cc")
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
        paths.append(path)
    return rule.check(root, paths)


@pytest.mark.parametrize("use", ["std::sort(v)", "std::ranges::sort(v)", "x = std::min(a, b);"])
def test_a_use_without_its_header_is_named(tmp_path, use):
    assert faults(tmp_path, a_cc=f"#include <vector>\n{use}\n") == [
        f"lib/base/a.cc:2: std::{'min' if 'min' in use else 'sort'} needs #include <algorithm>"
    ]


def test_a_header_counts_where_a_header_of_ours_brings_it(tmp_path):
    own = '#include "base/b.h"\nstd::sort(v); // std::optional\n'
    assert faults(tmp_path, b_h="#include <algorithm>\n", a_cc=own) == []
