"""Every call of every row in both libraries, and what came of it."""

from __future__ import annotations

import dataclasses
import importlib
import pathlib
from dataclasses import dataclass, field

import numpy as np

from tests.harness.part import Part
from tests.harness.table import FLOATS, ROWS

from . import calls
from .compare import Difference, differences, of_gradients, of_tensors
from .differences import APART
from .library import Seen, flat
from .shares import Shares
from .ties import settle

OPS = pathlib.Path(__file__).resolve().parents[1] / "ops"


@dataclass
class Found:
    calls: dict = field(default_factory=dict)  # number of calls by row
    rounded: int = 0  # results where PyTorch's own, in float64, is nearer to ours
    differences: list = field(default_factory=list)
    alone: list = field(default_factory=list)  # rows for which PyTorch has no name
    shares: Shares = field(default_factory=Shares)  # of PyTorch's samples

    def add(self, more):
        for row, calls_of_it in more.calls.items():
            self.calls[row] = self.calls.get(row, 0) + calls_of_it
        self.rounded += more.rounded
        self.differences += more.differences
        self.alone += more.alone
        self.shares.add(more.shares)


def read_table():
    for table in sorted(OPS.glob("*.py")):
        if not table.name.startswith(("test_", "conftest")):
            importlib.import_module(table.stem)


def everything(ours, theirs, chosen=(), part=None):
    """On another device than the cpu without the forms in which only the host has a part."""
    read_table()
    found = Found()
    for name in (part or Part(1, 1)).of(sorted(chosen or ROWS)):
        row_into(found, ours, theirs, ROWS[name])
    return found


def row_into(found, ours, theirs, row):
    if row.name in APART:
        found.alone.append(row.name)
        return
    missing = set()
    for spelling in {f.spelling for f in calls.forms(row)} - {"call"}:
        for library, who in ((ours, "flambeau"), (theirs, "PyTorch")):
            if library.find(spelling) is None:
                missing.add(spelling)
                found.differences.append(Difference(row.name, "name", f"{who} has no {spelling}"))
    found.calls[row.name] = 0
    of_row = calls.of_row if ours.device == "cpu" else calls.on_a_device
    for call in of_row(row):
        if call.spelling not in missing:
            found.calls[row.name] += 1
            compare_call(found, ours, theirs, call)


def compare_call(found, ours, theirs, call):
    a = ours.outcome(call.make, call.invoke, call.differentiable)
    b = theirs.outcome(call.make, call.invoke, call.differentiable)
    settle(call, a, b, theirs)
    for kind, text in differences(a, b, call.tolerance):
        if kind in ("value", "gradient") and call.precise and rounded(theirs, call, a, kind):
            found.rounded += 1
            continue
        found.differences.append(Difference(call.row, kind, f"{call.what}: {text}"))


def rounded(theirs, call, ours, kind):
    """Whether PyTorch computes our result, too, once it computes in float64."""
    result = next((s for s in flat(ours.results) if isinstance(s, Seen)), None)
    make = call.precise(result is not None and result.dtype in FLOATS)
    precise = theirs.outcome(make, call.invoke, call.differentiable)
    if precise.raised:
        return False
    if kind == "gradient":
        pairs = zip(ours.gradients, precise.gradients)
    else:
        pairs = zip(flat(ours.results), flat(precise.results))
    return all(agree(mine, exact, call.tolerance, kind) for mine, exact in pairs)


def agree(mine, exact, tolerance, kind):
    """A result and what it should be, in float64."""
    if not (isinstance(mine, Seen) and isinstance(exact, Seen)):
        return mine == exact
    exact = dataclasses.replace(exact, dtype=mine.dtype, stride=mine.stride)
    exact.values = in_range(exact.values, mine.dtype)
    if kind == "gradient":
        found = of_gradients([mine], [exact], tolerance)
    else:
        found = of_tensors(mine, exact, tolerance)
    return kind not in [k for k, _ in found]


def in_range(values, dtype):
    """float64 values as the dtype has them: beyond its range infinite."""
    if dtype == "float16":
        return np.where(np.abs(values) >= 65520, np.copysign(np.inf, values), values)
    if dtype == "float32":
        with np.errstate(over="ignore"):
            return values.astype(np.float32).astype(np.float64)
    return values
