"""Every row of the tables through every check."""

import importlib
import pathlib

import pytest

from tests.harness import checks, derivatives, faults, sharing
from tests.harness.table import ROWS

HERE = pathlib.Path(__file__).parent
for table in sorted(HERE.glob("*.py")):
    if not table.name.startswith(("test_", "conftest")):
        importlib.import_module(table.stem)

NAMES = sorted(ROWS)
FORWARD = [(n, d) for n in NAMES for d in ROWS[n].dtypes]
on_rows = pytest.mark.parametrize("name", NAMES)


@pytest.mark.parametrize("name,dtype", FORWARD)
def test_forward(name, dtype, device):
    checks.forward(ROWS[name], device, dtype)


@on_rows
def test_layouts(name, device):
    checks.layouts(ROWS[name], device)


@on_rows
def test_in_place(name, device):
    checks.in_its_place(ROWS[name], device)


@on_rows
def test_in_place_gradient(name, device):
    derivatives.in_place_gradient(ROWS[name], device)


@on_rows
def test_aliased(name, device):
    checks.aliased(ROWS[name], device)


@on_rows
def test_out(name, device):
    checks.out(ROWS[name], device)


@on_rows
def test_memory_of_results(name, device):
    sharing.shared(ROWS[name], device)
    sharing.copied(ROWS[name], device)
    sharing.based(ROWS[name], device)
    sharing.written_views_have_gradients(ROWS[name])


@on_rows
def test_errors(name, device):
    checks.wrong_dtypes(ROWS[name], device)
    checks.wrong_shape(ROWS[name], device)
    checks.wrong_device(ROWS[name], "sim:0")
    checks.refusals(ROWS[name], device)


@on_rows
def test_failing_allocations(name, device):
    faults.failing_allocations(ROWS[name], device)


@on_rows
def test_gradients(name):
    derivatives.gradients(ROWS[name])


@on_rows
def test_threads(name):
    derivatives.threads(ROWS[name])


@on_rows
def test_device_agrees_with_cpu(name, device):
    derivatives.device_agrees(ROWS[name], device)
