"""What was found on this machine, loaded, and rejected, and why: `python -m flambeau doctor` shows
it with a tick or a cross per line, `python -m flambeau.utils.collect_env` as text for a bug report.
The engine knows the facts; Python adds its own."""

import json
import os
import platform
import sys

from .. import _library
from .._gen import api
from ..version import __version__

__all__ = ["doctor", "facts", "get_env_info", "get_pretty_env_info", "main"]


def _fact(group, name, value, state="well", fix=""):
    return {"group": group, "name": name, "state": state, "value": value, "fix": fix}


def _numpy():
    try:
        import numpy
    except ImportError as problem:
        return _fact(
            "python",
            "numpy",
            f"{problem}; only needed to exchange arrays with it",
            "missing",
            "pip install numpy",
        )
    return _fact("python", "numpy", numpy.__version__)


def _python_facts():
    return [
        _fact("python", "python", f"{platform.python_version()} ({sys.executable})", "neutral"),
        _fact("python", "package", f"{__version__}, in {os.path.dirname(_library._HERE)}"),
        _fact("python", "extension", _library.extension_path),
        _numpy(),
    ]


def facts():
    """A list of facts, each a dictionary: `group`, `name`, `state` ("well", "missing", "neutral"),
    `value`, and `fix`, the line to paste where something is missing."""
    found = json.loads(api.environment())["facts"]
    place = next(i for i, f in enumerate(found) if f["group"] != "library")
    return found[:place] + _python_facts() + found[place:]


def _lines(fact, marks, paint):
    first, *rest = fact["value"].splitlines() or [""]
    yield f" {marks[fact['state']]} {fact['name']:16} {first}".rstrip()
    yield from (f"   {'':16} {line}" for line in rest)
    if fact["state"] == "missing" and fact["fix"]:
        yield f"   {'':16} {paint('36', fact['fix'])}"


def doctor(out=None):
    """Prints every fact with a tick or a cross, and for a cross the line to paste. Returns the
    number of crosses."""
    out = out or sys.stdout
    color = out.isatty() and "NO_COLOR" not in os.environ
    unicode = (getattr(out, "encoding", None) or "").lower().startswith("utf")

    def paint(code, text):
        return f"\x1b[{code}m{text}\x1b[0m" if color else text

    signs = ("✓", "✗", "·") if unicode else ("+", "x", "-")
    states = ("well", "missing", "neutral")
    marks = {s: paint(c, m) for s, c, m in zip(states, ("32", "31", "90"), signs)}
    group, crosses = None, 0
    for fact in facts():
        if fact["group"] != group:
            group = fact["group"]
            print(paint("1", group), file=out)
        crosses += fact["state"] == "missing"
        for line in _lines(fact, marks, paint):
            print(line, file=out)
    return crosses


def get_env_info():
    """The facts as {group: {name: value}}."""
    found = {}
    for fact in facts():
        found.setdefault(fact["group"], {})[fact["name"]] = fact["value"]
    return found


def get_pretty_env_info():
    """The facts as text for a bug report."""
    lines = []
    for group, entries in get_env_info().items():
        lines += ["", f"[{group}]"]
        for name, value in entries.items():
            lines.append(f"{name}: " + value.replace("\n", "\n    "))
    return "\n".join(lines[1:])


def main():
    """Prints the facts."""
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
