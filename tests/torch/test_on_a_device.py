"""The comparer on a device that is not the cpu, and the figures of the check on a GPU, with
flambeau in both places on a simulated GPU: nothing differs, and every family is timed.
"""

import pathlib

from tests.harness import child

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
rows = list(speed.measured(flambeau, flambeau, n=1 << 13, k=32, times=1, rounds=1))
assert [r["name"] for r in rows] == [f.name for f in speed.families(1, 1)] + ["training step"]
assert all(r["flambeau_us"] > 0 and r["ratio"] > 0 for r in rows), rows
print(len(rows))
"""


def run(program):
    simulated = "devices=1,memory=256MiB,as=cuda"
    return int(child.output(program, ROOT / "tests/gpu_check", FLAMBEAU_SIM=simulated))


def test_rows_are_compared_on_a_gpu():
    assert run(COMPARED) > 20


def test_families_are_timed():
    assert run(TIMED) == 14
