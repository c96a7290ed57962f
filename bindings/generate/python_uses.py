"""What the generator reads of the hand-written Python package: which C functions it calls, and its
table of exceptions. Nothing else in the package changes what is generated.
"""

from __future__ import annotations

import pathlib
import re

PACKAGE = pathlib.Path(__file__).resolve().parents[1] / "python/flambeau"


def called() -> dict[str, pathlib.Path]:
    """The names `api.<name>` in the package, with a file that has each."""
    return {
        name: path
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.parent.name != "_gen"
        for name in re.findall(r"\bapi\.((?:_E_|[a-z])\w+)", path.read_text())
    }


def exceptions() -> dict[str, str]:
    """The name of the exception of every status, by its number as text."""
    text = (PACKAGE / "_errors.py").read_text()
    return dict(re.findall(r"^    (\d+): (\w+),$", text, re.MULTILINE))
