"""pytest --device cpu|sim|standin|cuda: where the programs run."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "bindings" / "python")]


def pytest_addoption(parser):
    parser.addoption("--device", default="cpu", choices=("cpu", "sim", "standin", "cuda"))
