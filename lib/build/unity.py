"""Which host files are compiled as one (FLAM_UNITY): files of a folder, or of small folders beside
each other, whose private names do not meet. What a file keeps to itself, in an anonymous namespace
or as a macro, is in no other file of its group, and where a header has the same name, no other file
of the group uses that.

    python lib/build/unity.py LIB FILE...    prints a line `group file file...` for each group
"""

from __future__ import annotations

import collections
import os
import pathlib
import re
import sys

MOST = 16  # files of a group: more save little and keep one processor busy for long
FEW = 4  # files of a folder that are no group of their own

NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', re.DOTALL)
WORD = re.compile(r"[A-Za-z_]\w*")
DECLARED = re.compile(r"([A-Za-z_]\w*)\s*(?=[({=\[;]|:(?!:))")
# Words of the language, and what files agree on: `using T = const Tensor&`.
SHARED = set("const default final namespace noexcept operator override".split())
SHARED |= set("public requires std void T".split())


def top_level(text: str, start: int) -> str:
    """What stands in the block that begins at `start`, less what is in blocks and parentheses."""
    depth, kept = 0, []
    for c in text[start:]:
        if c in "})":
            depth -= 1
            if depth < 0:
                break
        if depth == 0:
            kept.append(c)
        if c in "{(":
            depth += 1
    return "".join(kept)


def private_names(text: str) -> set[str]:
    names = set(re.findall(r"^\s*#\s*define\s+(\w+)", text, re.MULTILINE))
    names -= set(re.findall(r"^\s*#\s*undef\s+(\w+)", text, re.MULTILINE))
    text = re.sub(r"\bfinal\b", " ", text)  # between a class's name and what follows it
    for region in re.finditer(r"\bnamespace\s*\{", text):
        names |= set(DECLARED.findall(top_level(text, region.end())))
    for line in re.findall(r"^(?:static|inline|constexpr|const)\b[^;{=]*", text, re.MULTILINE):
        names |= set(DECLARED.findall(line + ";"))
    return names - SHARED


def header_names(lib: str) -> set[str]:
    """What headers declare, which is what begins a line: namespaces do not indent."""
    names: set[str] = set()
    for path in pathlib.Path(lib).rglob("*.h"):
        text = NOISE.sub(" ", path.read_text())
        names |= set(re.findall(r"\b(?:struct|class|enum|using|concept)\s+(\w+)", text))
        names |= set(DECLARED.findall("\n".join(re.findall(r"^\w[^\n]*", text, re.MULTILINE))))
    return names


def homes(lib: str, files: list[str]) -> dict[str, str]:
    """The folder whose group a file joins: its own, or that around it where there are few."""
    found = {f: os.path.relpath(os.path.dirname(f), lib).replace("/", "_") for f in files}
    held = collections.Counter(found.values())
    return {
        f: home.rpartition("_")[0] if "_" in home and held[home] < FEW else home
        for f, home in found.items()
    }


def groups(lib: str, files: list[str]) -> dict[str, list[str]]:
    """By name of the group, its files: each goes to the first of its folder that it fits in."""
    known = header_names(lib)
    made: dict[str, list[str]] = {}
    private: dict[str, set[str]] = {}
    words: dict[str, set[str]] = {}
    folders = homes(lib, files)
    for file in sorted(files):
        text = NOISE.sub(" ", pathlib.Path(file).read_text())
        mine, used = private_names(text), set(WORD.findall(text)) & known
        folder = folders[file]
        n = 1
        while (name := f"{folder}_{n}") in made and (
            len(made[name]) >= MOST
            or mine & (private[name] | words[name])
            or private[name] & used
        ):
            n += 1
        made.setdefault(name, []).append(file)
        private[name] = private.get(name, set()) | mine
        words[name] = words.get(name, set()) | used
    return made


if __name__ == "__main__":
    for name, members in groups(sys.argv[1], sys.argv[2:]).items():
        print(name, *members)
