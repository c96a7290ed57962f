"""pytest --device cpu|sim|standin|cuda: where the ops run. There always is a simulated device,
too."""

import os
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "bindings" / "python"), str(ROOT / "tests" / "ops")]


PLACES = {"cpu": "cpu", "sim": "sim:0", "standin": "cuda:0", "cuda": "cuda:0"}


def pytest_addoption(parser):
    parser.addoption("--device", default="cpu", choices=PLACES)


def pytest_configure(config):
    os.environ.setdefault("FLAMBEAU_SIM", "devices=2,memory=256MiB")


def pytest_generate_tests(metafunc):
    if "device" in metafunc.fixturenames:
        chosen = metafunc.config.getoption("--device")
        metafunc.parametrize("device", [PLACES[chosen]])


TABLES = "reads tables, and computes nothing"
HARNESS = "breaks a check of the harness on purpose"
# What takes no device and runs with the cpu's only, and why.
ONCE = {
    "test_autocast": {"test_what_torch_has_a_rule_for_has_one_here": TABLES},
    "test_layers": {
        "test_options_out_of_their_range_are_refused_at_once": "makes modules and runs none",
        "test_there_are_layers_of_every_family": TABLES,
    },
    "test_numbers": {"test_there_are_such_forms": TABLES},
    "test_ops": {
        "test_gradients": "finite differences in float64: gradients on devices are the cpu's by "
        "test_device_agrees_with_cpu",
        "test_threads": "threads are the cpu's",
    },
    "test_second_backward": {"test_every_differentiable_row_is_stored": TABLES},
    "test_state": {"test_both_statistics_are_on_the_operand_s_device": "needs two kinds of device"},
    "test_table": {
        "test_tables_were_loaded": TABLES,
        "test_every_function_has_a_row": TABLES,
        "test_every_row_has_operands_that_threads_share": TABLES,
        "test_a_missing_row_is_found": HARNESS,
        "test_a_row_of_no_function_is_found": HARNESS,
        "test_a_wrong_gradient_is_found": HARNESS,
        "test_differences_of_many_elements_are_at_each_cases_own_places": HARNESS,
        "test_a_wrong_second_derivative_is_found": HARNESS,
        "test_a_result_that_depends_on_threads_is_found": HARNESS,
        "test_the_ledger_names_the_dtypes_that_are_taken": TABLES,
    },
}


def pytest_collection_modifyitems(config, items):
    once = [item for item in items if "device" not in item.fixturenames]
    for item in once:
        if item.originalname not in ONCE.get(item.module.__name__.rpartition(".")[2], {}):
            raise pytest.UsageError(f"{item.nodeid} takes no device; conftest.py has no reason")
    if config.getoption("--device") != "cpu":
        items[:] = [item for item in items if "device" in item.fixturenames]
        config.hook.pytest_deselected(items=once)
