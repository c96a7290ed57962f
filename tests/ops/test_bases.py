"""What a result is a view of: an operand, or nothing. A tensor that was made along the way is the
base of no result, as no program has it: writing to the result enters its own history."""

import importlib
import pathlib

import flambeau as torch
import pytest

from tests.harness import cases
from tests.harness.table import ROWS

for table in sorted(pathlib.Path(__file__).parent.glob("*.py")):
    if not table.name.startswith(("test_", "conftest")):
        importlib.import_module(table.stem)


# Whose result is a view of what the graph keeps for its gradient.
KEPT = {"linalg_lstsq", "multihead_attention_weights"}
# Whose row in the table shows complex numbers as pairs.
SHOWN = {"complex", "polar", "scalar_c128", "view_as_complex", "view_as_real"}


def is_known(base, operands):
    return base is None or any(base is o or base is o._base for o in operands)


@pytest.mark.parametrize("name", sorted(set(ROWS) - SHOWN))
@pytest.mark.parametrize("recorded", [False, True])
def test_a_result_is_a_view_of_an_operand_or_of_nothing(name, recorded, device):
    row = ROWS[name]
    for case in cases.differentiable(row) if recorded else cases.cases(row, row.dtypes[0]):
        ts = case.leaves(device)[0] if recorded else case.on(device)
        ts = [t * 1 for t in ts] if recorded and cases.changes_operand(row) else ts
        found = case.call(ts, device)
        several = found if isinstance(found, (tuple, list)) else [found]
        for result in several if not (recorded and name in KEPT) else ():
            assert not isinstance(result, torch.Tensor) or is_known(result._base, ts), case.what


def test_writing_to_a_result_whose_base_was_hidden_enters_its_history(device):
    x = torch.ones(2, 3, requires_grad=True, device=device)
    y = torch.nn.functional.pixel_shuffle(x.reshape(1, 6, 1, 1)[:, :4] * 2, 2)
    assert y._base is None and y.grad_fn is not None and not y.is_leaf
    y.mul_(y.detach().clone() + 1)
    y.sum().backward()
    assert x.grad.tolist() == [[6.0, 6.0, 6.0], [6.0, 0.0, 0.0]]
