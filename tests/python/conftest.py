"""Fixtures of the Python suite. `--device cpu|sim|standin|cuda` says where tensors are made; the
default is the cpu."""

import os
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bindings" / "python"))


def pytest_addoption(parser):
    try:
        parser.addoption(
            "--device",
            default="cpu",
            choices=["cpu", "sim", "standin", "cuda"],
            help="where tensors are made",
        )
    except ValueError:  # another suite's conftest in the same run has the option already
        pass


def pytest_configure(config):
    if config.getoption("--device") == "sim":
        os.environ.setdefault("FLAMBEAU_SIM", "devices=2,memory=256MiB,as=cuda")


@pytest.fixture(scope="session")
def torch():
    import flambeau

    return flambeau


@pytest.fixture(scope="session")
def device(request):
    return {"cpu": "cpu", "sim": "cuda", "standin": "cuda", "cuda": "cuda"}[
        request.config.getoption("--device")
    ]
