"""pytest --device cpu|sim|standin|cuda: where the ops run. There always is a simulated device,
too."""

import os
import pathlib
import sys

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


def pytest_collection_modifyitems(config, items):
    """What runs on the cpu whatever the device is run with that of the cpu, once."""
    if config.getoption("--device") != "cpu":
        once = [item for item in items if "device" not in item.fixturenames]
        items[:] = [item for item in items if "device" in item.fixturenames]
        config.hook.pytest_deselected(items=once)
