"""Generates everything that follows from the headers: `python bindings/generate [--check]`.

Every module emit_*.py beside this file has `emit(api) -> {path: text}`; paths are relative to the repository.
With --check nothing is written, and files that are out of date are listed.
"""

from __future__ import annotations

import argparse
import importlib
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))


def outputs() -> dict[str, str]:
    import headers

    try:
        api = headers.read(ROOT / "include")
    except headers.HeaderError as e:
        sys.exit(f"{e}\n{len(str(e).splitlines())} faults in the headers; nothing was generated")
    files = {"bindings/api.json": json.dumps(api.to_json(), indent=1) + "\n"}
    for path in sorted(HERE.glob("emit_*.py")):
        for name, text in importlib.import_module(path.stem).emit(api).items():
            assert name not in files, f"{path.name} and another emitter both write {name}"
            files[name] = text
    return files


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only list what is out of date")
    check = parser.parse_args().check
    stale = []
    for name, text in outputs().items():
        path = ROOT / name
        if path.exists() and path.read_text() == text:
            continue
        stale.append(name)
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    for name in stale:
        print(("out of date: " if check else "wrote ") + name)
    if check and stale:
        print("run `make gen` and commit the result")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
