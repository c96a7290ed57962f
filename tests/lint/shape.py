"""The shape of hand-written files: how long they are, how wide, and that each opens by saying what
it is.
"""

from __future__ import annotations

import statistics
from pathlib import Path

LONGEST, MEDIAN, COLUMNS = 800, 150, 100
CODE = {".cc", ".h", ".cu", ".c", ".py", ".rs", ".cmake", ".sh"}
OPENINGS = ("//", "/*", '"""', "#", "//!")


def is_code(path: Path) -> bool:
    return path.suffix in CODE or path.name == "CMakeLists.txt"


def opens_with_comment(lines: list[str]) -> bool:
    for line in lines:
        if line.startswith("#!") or not line.strip():
            continue
        return line.lstrip().startswith(OPENINGS) and not line.startswith(
            ("#include", "#pragma", "#if", "#define")
        )
    return True  # an empty file, as a Python package's __init__ may be


def check(root: Path, files: list[Path]) -> list[str]:
    faults, lengths = [], []
    for path in files:
        if not is_code(path):
            continue
        lines = (root / path).read_text().splitlines()
        lengths.append(len(lines))
        if len(lines) > LONGEST:
            faults.append(f"{path}: {len(lines)} lines; no file is longer than {LONGEST}")
        if not opens_with_comment(lines):
            faults.append(f"{path}:1: does not open with a comment that says what it is")
        for number, line in enumerate(lines, 1):
            if len(line) > COLUMNS and "://" not in line:
                faults.append(f"{path}:{number}: {len(line)} columns; {COLUMNS} is the limit")
            if line.rstrip() != line:
                faults.append(f"{path}:{number}: blanks at the end of the line")
    if lengths and statistics.median(lengths) >= MEDIAN:
        faults.append(
            f"the median file has {statistics.median(lengths)} lines; it should stay under {MEDIAN}"
        )
    return faults
