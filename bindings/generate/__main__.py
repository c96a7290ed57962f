"""Generates everything that follows from the headers: `python bindings/generate`.

Every module emit_*.py beside this file has `emit(api) -> {path: text}`; paths are relative to the
repository. Nothing is written unless the headers are without fault and every emitter has succeeded.
With --check nothing is written at all: what git keeps and is not current is listed, and the exit
status is 1. With --if-changed, as the build calls it, nothing is done where the stamp says that
files and headers are those of the last run.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import re
import sys

import tree


def check_versions() -> None:
    """Generated text depends on the tools: other versions would make it go back and forth."""
    lock = tree.LOCK.read_text()
    for package in ("cffi", "libclang"):
        pinned = re.search(rf"^{package}==(\S+)$", lock, re.MULTILINE)[1]
        found = importlib.metadata.version(package)
        if found != pinned:
            sys.exit(
                f"{package} {found} is not the pinned {pinned}: use `make gen`, or "
                f"{sys.executable} -m pip install {package}=={pinned}"
            )


def outputs() -> dict[str, str]:
    """The text of every generated file, by path."""
    import headers

    try:
        api = headers.read(tree.ROOT / "include")
    except headers.HeaderError as e:
        sys.exit(f"{e}\n{len(str(e).splitlines())} faults in the headers; nothing was written")
    files: dict[str, str] = {}
    for path in sorted(tree.HERE.glob("emit_*.py")):
        for name, text in importlib.import_module(path.stem).emit(api).items():
            if name in files:
                sys.exit(f"{path.name}: {name} is written by another emitter already")
            files[name] = text
    return files


def check(files: dict[str, str]) -> int:
    """Lists what git keeps and is not current."""
    faults = [f"out of date: {n}" for n in tree.stale(files) if not n.startswith(tree.UNTRACKED)]
    faults += [
        f"no longer generated: {n}"
        for n in tree.leftovers(files)
        if not n.startswith(tree.UNTRACKED)
    ]
    if faults:
        print(*faults, "run `make gen` and commit the result", sep="\n")
    return 1 if faults else 0


def write(files: dict[str, str]) -> int:
    for name in tree.stale(files):
        tree.write(name, files[name])
        print("wrote", name)
    for name in tree.leftovers(files):
        tree.remove(name)
        print("removed", name)
    tree.set_stamp(files)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only list what is not current")
    parser.add_argument("--if-changed", action="store_true", help="only where the stamp is stale")
    options = parser.parse_args()
    if options.if_changed and tree.is_stamped():
        return 0
    try:
        check_versions()
        files = outputs()
    except ModuleNotFoundError as e:
        sys.exit(f"{e}: run `make gen`, which sets up .venv with what the generator needs")
    return check(files) if options.check else write(files)


if __name__ == "__main__":
    sys.exit(main())
