"""Writes tests/golden/second_backward.json: whether PyTorch walks the graph of an operation again
once its saved values were freed, for each case of each row of the op table.

    python tests/torch/second_backward.py        with TORCH_PYTHON as tests/torch/run.py has it
"""

from __future__ import annotations

import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden" / "second_backward.json"


def verdicts(theirs, row, cases):
    from tests.torch import calls

    form = next(iter(calls.forms(row)), None)
    if form is None or (form.spelling != "call" and theirs.find(form.spelling) is None):
        return {}
    found = {}
    for case in cases:
        call = calls.call(form, case)
        outcome = theirs.outcome(call.make, call.invoke, call.differentiable)
        if outcome.again and not outcome.raised:
            found[case.what] = outcome.again[1]
    return found


def main():
    sys.path[:] = [p for p in sys.path if p != str(GOLDEN.parents[1] / "torch")]
    sys.path[:0] = [str(ROOT)]
    from tests.torch import run

    flambeau, torch = run.load()
    from tests.harness.cases import differentiable
    from tests.harness.table import ROWS
    from tests.torch import walk
    from tests.torch.differences import APART
    from tests.torch.library import Library

    walk.read_table()
    theirs = Library(torch, flambeau)
    stored = {
        name: verdicts(theirs, row, differentiable(row))
        for name, row in sorted(ROWS.items())
        if name not in APART
    }
    alike, apart = {}, []
    for name, found in stored.items():
        if len(set(found.values())) == 1:
            alike.setdefault(next(iter(found.values())), []).append(name)
        elif found:
            apart.append(f"{json.dumps(name)}: {json.dumps(found)}")
    lines = [f"{json.dumps(v)}: {json.dumps(' '.join(names))}" for v, names in alike.items()]
    lines.append('"by case": {\n' + ",\n".join(apart) + "\n}")
    GOLDEN.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
