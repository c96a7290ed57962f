"""Every differentiable operation walked backward again: with the values kept, the gradient is the
same; once they are freed, a pass works exactly where PyTorch's operation saves nothing
(tests/golden/second_backward.json, written by tests/torch/second_backward.py)."""

import importlib
import json
import pathlib

import flambeau as torch
import pytest

from tests.harness import cases
from tests.harness.table import ROWS

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden" / "second_backward.json"
READ = json.loads(GOLDEN.read_text(encoding="utf-8"))
STORED = READ.pop("by case") | {n: end for end, names in READ.items() for n in names.split()}
for table in sorted(pathlib.Path(__file__).parent.glob("*.py")):
    if not table.name.startswith(("test_", "conftest")):
        importlib.import_module(table.stem)


# Rows that end otherwise, and why that stays.
STRICTER = {
    name: "made of operations that save a factor or an operand; one of its own in PyTorch"
    for name in ("gradient", "scaled_dot_product_attention")
}


def verdict(case, device):
    """What a second pass does: "works" or "is refused"; None where there is no gradient."""
    ts, leaves = case.leaves(device)
    found = case.call([t * 1 if cases.changes_operand(case.row) else t for t in ts], device)
    outputs = [t for t in flat(found) if t.requires_grad]
    if not outputs:
        return None
    ones = [torch.ones_like(t) for t in outputs]

    def walk(**options):
        return torch.autograd.grad(outputs, leaves, ones, allow_unused=True, **options)

    first, second = walk(retain_graph=True), walk()
    for a, b in zip(first, second):
        assert (a is None) == (b is None)
        assert a is None or torch.equal(a.nan_to_num(), b.nan_to_num())
    try:
        walk()
    except RuntimeError as problem:
        assert "Trying to backward through the graph a second time" in str(problem)
        return "is refused"
    return "works"


def flat(value):
    if isinstance(value, (tuple, list)):
        return [t for v in value for t in flat(v)]
    return [value] if isinstance(value, torch.Tensor) else []


@pytest.mark.parametrize("name", sorted(STORED))
def test_a_second_pass_ends_as_pytorchs(name, device):
    found = {c.what: verdict(c, device) for c in cases.differentiable(ROWS[name])}
    stored = STORED[name] if isinstance(STORED[name], dict) else dict.fromkeys(found, STORED[name])
    different = {what: v for what, v in found.items() if v and stored.get(what, v) != v}
    if name in STRICTER:
        assert set(different.values()) == {"is refused"}
    else:
        assert not different


def test_every_differentiable_row_is_stored():
    assert len(STORED) > 300
