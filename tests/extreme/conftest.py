"""pytest --device cpu|sim|standin: where the calls run. The simulated devices are there in all."""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))


PLACES = {"cpu": "cpu", "sim": "sim:0", "standin": "cuda:0"}


def pytest_addoption(parser):
    parser.addoption("--device", default="cpu", choices=PLACES)


def pytest_configure(config):
    root = pathlib.Path(__file__).resolve().parents[2]
    os.environ.setdefault("FLAMBEAU_LIBRARY", str(root / "build" / "libflambeau.so.0"))
    os.environ.setdefault("FLAMBEAU_SIM", "devices=2,memory=256MiB")


def pytest_generate_tests(metafunc):
    if "device" in metafunc.fixturenames:
        chosen = metafunc.config.getoption("--device")
        metafunc.parametrize("device", [PLACES[chosen]])
