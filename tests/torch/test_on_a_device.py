"""The comparer on a device that is not the cpu, and the figures of the check on a GPU, with
flambeau in both places on a simulated GPU: nothing differs, and every family is timed.
"""

import pathlib
import re

from tests.harness import child
from tests.harness.cases import differentiable
from tests.harness.table import ROWS
from tests.torch import calls, walk
from tests.torch.differences import APART

ROOT = pathlib.Path(__file__).resolve().parents[2]

COMPARED = """
import flambeau
from tests.torch import walk
from tests.torch.library import Library
ours, theirs = Library(flambeau, None, "cuda"), Library(flambeau, flambeau, "cuda")
found = walk.everything(ours, theirs, ["matmul", "softmax", "conv2d", "full_like", "index_add"])
assert not found.differences, found.differences
assert all(found.calls.values()), found.calls
print(sum(found.calls.values()))
"""

TIMED = """
import sys
sys.path.insert(0, sys.argv[1])
import flambeau
import speed
small = {"n": 1 << 13, "k": 32, "times": 1, "rounds": 1}
families = speed.families(1 << 13, 32)
assert all((f.moved > 0) != (f.flops > 0) for f in families)
assert len({f.name for f in families}) == len(families)
for beside in flambeau, None:
    rows = list(speed.measured(flambeau, beside, **small))
    assert [r["name"] for r in rows] == [f.name for f in families] + ["training step"]
    assert all(r["flambeau_us"] > 0 and bool(r["ratio"]) == bool(beside) for r in rows), rows
    assert all(r["of_the_ceiling"] > 0 for r in rows[:-1]), rows
    assert sum("ceiling" in r for r in rows) == 3, rows
print(len(rows))
"""


def run(program):
    simulated = "devices=1,memory=256MiB,as=cuda"
    return int(child.output(program, ROOT / "tests/gpu_check", FLAMBEAU_SIM=simulated))


def test_rows_are_compared_on_a_gpu():
    assert run(COMPARED) > 20


def test_every_row_is_compared_in_every_form_and_dtype_that_trains():
    walk.read_table()
    for row in ROWS.values():
        if row.name in APART:
            continue
        made = list(calls.cases_on_a_device(row))
        training = {"float32", "float16", "bfloat16"} & set(row.dtypes)
        wanted = {(f.what, d) for f in calls.forms(row) for d in training or row.dtypes[:1]}
        assert wanted and wanted == {(form.what, case.dtype) for form, case, _ in made}, row.name
        graded = any(any(case.tracked) for _, case, _ in made)
        assert graded == bool(differentiable(row)), row.name


def test_what_is_compared_elsewhere_is_there():
    walk.read_table()
    assert set(APART) <= set(ROWS)
    expressions = (ROOT / "tests/torch/expressions.txt").read_text()
    for row, reason in APART.items():
        files = re.findall(r"tests/[\w/]+\.py", reason)
        assert files or re.search(r"have (.+)$", reason).group(1) in expressions, (row, reason)
        assert all((ROOT / file).exists() for file in files), (row, reason)


def test_families_are_timed():
    assert run(TIMED) > 40
