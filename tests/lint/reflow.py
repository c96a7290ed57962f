"""Wraps comments and docstrings that are too wide, which the formatters of Python, CMake and shell
leave alone. Only a paragraph with an overlong line is touched; its indentation and marker stay.
"""

from __future__ import annotations

import io
import re
import textwrap
import tokenize
from pathlib import Path

COMMENT = re.compile(r"^(\s*#+ )(?=\S)")
ITEM = re.compile(r"^\s*([-*]|\d+[.)]|>>>|\|)\s")


def wrap(lines: list[str], prefix: str, width: int) -> list[str]:
    text = " ".join(line.strip() for line in lines)
    return textwrap.wrap(
        text,
        width,
        initial_indent=prefix,
        subsequent_indent=prefix,
        break_long_words=False,
        break_on_hyphens=False,
    )


def paragraphs(lines: list[str], prefix_of) -> list[list[int]]:
    """Runs of neighbouring lines with one prefix; an item of a list begins a run of its own."""
    runs: list[list[int]] = []
    last = None
    for i, line in enumerate(lines):
        prefix = prefix_of(i, line)
        body = line[len(prefix) :] if prefix is not None else ""
        if prefix is None or body.strip() in ("", '"""') or ITEM.match(body):
            last = None
            continue
        if prefix == last:
            runs[-1].append(i)
        else:
            runs.append([i])
        last = prefix
    return runs


def docstring_lines(text: str) -> set[int]:
    inside: set[int] = set()
    previous = tokenize.NEWLINE
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.STRING and previous in (tokenize.NEWLINE, tokenize.INDENT):
            if token.string.startswith('"""'):
                inside |= set(range(token.start[0] - 1, token.end[0]))
        if token.type not in (tokenize.NL, tokenize.COMMENT):
            previous = token.type
    return inside


def reflow(path: Path, width: int) -> None:
    text = path.read_text()
    lines = text.splitlines()
    if all(len(line) <= width for line in lines):
        return
    docstrings = docstring_lines(text) if path.suffix == ".py" else set()

    def prefix_of(i: int, line: str) -> str | None:
        if i in docstrings:
            return line[: len(line) - len(line.lstrip())]
        match = COMMENT.match(line)
        return match.group(1) if match else None

    for run in reversed(paragraphs(lines, prefix_of)):
        block = [lines[i] for i in run]
        if all(len(line) <= width for line in block):
            continue
        prefix = prefix_of(run[0], block[0])
        body = [line[len(prefix) :] for line in block]
        lines[run[0] : run[-1] + 1] = wrap(body, prefix, width)
    path.write_text("\n".join(lines) + "\n")
