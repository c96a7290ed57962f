"""Every row of the tables through every check."""

import importlib
import pathlib

import pytest

from tests.harness import checks
from tests.harness.table import ROWS

HERE = pathlib.Path(__file__).parent
for table in sorted(HERE.glob("*.py")):
    if not table.name.startswith(("test_", "conftest", "exempt")):
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
    checks.in_place(ROWS[name], device)


@on_rows
def test_in_place_gradient(name):
    checks.in_place_gradient(ROWS[name])


@on_rows
def test_aliased(name, device):
    checks.aliased(ROWS[name], device)


@on_rows
def test_out(name, device):
    checks.out(ROWS[name], device)


@on_rows
def test_errors(name, device):
    checks.wrong_dtypes(ROWS[name], device)
    checks.wrong_shape(ROWS[name], device)
    checks.wrong_device(ROWS[name], "sim:1")


@on_rows
def test_gradients(name):
    checks.gradients(ROWS[name])


@on_rows
def test_threads(name):
    checks.threads(ROWS[name])


@on_rows
def test_device_agrees_with_cpu(name, device):
    checks.device_agrees(ROWS[name], device)
