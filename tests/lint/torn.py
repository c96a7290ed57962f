"""Torn comments: a line of a few words in the middle of a paragraph is what wrapping by a program
leaves behind, and a reader stumbles over it.
"""

from __future__ import annotations

import re
from pathlib import Path

LINE = re.compile(r"^(\s*(?://+|\*|#) )(\S.*)$")
FULL, FEW = 85, 24  # columns: a line that was wrapped, and what is torn off
ENDS, ITEMS = re.compile(r"[.:;,]$"), re.compile(r"[-*`|]")
CODE = {".cc", ".h", ".cu", ".c", ".py", ".rs", ".cmake"}


def torn(lines: list[str]) -> list[int]:
    """Numbers of the lines that were torn off, from 1."""
    found = []
    for i in range(1, len(lines) - 1):
        before, here, after = (LINE.match(line) for line in lines[i - 1 : i + 2])
        if not (before and here and after and before[1] == here[1] == after[1]):
            continue
        goes_on = not ENDS.search(here[2]) and not ITEMS.match(after[2])
        if len(before[0]) > FULL and len(here[2]) <= FEW and goes_on:
            found.append(i + 1)
    return found


def check(root: Path, files: list[Path]) -> list[str]:
    return [
        f"{path}:{number}: a comment's line was torn in two"
        for path in files
        if path.suffix in CODE
        for number in torn((root / path).read_text().splitlines())
    ]
