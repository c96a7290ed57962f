"""Programs are built once per run of the tests. `--device standin|cuda` runs what needs a GPU's
kernels and nothing else, `--language` the programs of one language."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import programs  # noqa: E402


def pytest_addoption(parser):
    parser.addoption("--device", default="cpu", choices=("cpu", "standin", "cuda"))
    parser.addoption("--language", choices=("python", "c", "rust"))


def pytest_collection_modifyitems(config, items):
    on_gpus = config.getoption("--device") != "cpu"
    chosen = config.getoption("--language")
    other = {"in_python", "in_c"} - {f"in_{chosen}"} if chosen else set()
    others = [
        item
        for item in items
        if ("gpus" in item.fixturenames) != on_gpus or other & set(item.fixturenames)
    ]
    items[:] = [item for item in items if item not in others]
    config.hook.pytest_deselected(items=others)


def in_every_language(name, folder, config):
    """An example program's commands, by language."""
    ways = {
        "python": lambda: programs.python_program(name),
        "c": lambda: [programs.compile_c(programs.ROOT / f"examples/c/{name}.c", folder / name)],
        "rust": lambda: programs.rust_program(name),
    }
    chosen = config.getoption("--language")
    languages = [chosen] if chosen else [n for n in ways if n != "rust" or programs.RUST.exists()]
    return {language: ways[language]() for language in languages}


@pytest.fixture
def gpus(request):
    """The environment in which programs find the GPUs."""
    standin = request.config.getoption("--device") == "standin"
    return {"FLAMBEAU_SIM": os.environ["FLAMBEAU_SIM"]} if standin else {}


@pytest.fixture(scope="session")
def languages(request, tmp_path_factory):
    """The digits program in every language: name and command."""
    return in_every_language("digits", tmp_path_factory.mktemp("digits"), request.config)


@pytest.fixture(scope="session")
def writers(request, tmp_path_factory):
    """The program that learns to write, in every language: name and command."""
    return in_every_language("chars", tmp_path_factory.mktemp("chars"), request.config)


@pytest.fixture
def in_python():
    """Of a test of programs that are in Python only."""


@pytest.fixture(scope="session")
def in_c(tmp_path_factory):
    """The GPT in C, as a command."""
    program = tmp_path_factory.mktemp("gpt") / "gpt"
    return [programs.compile_c(programs.ROOT / "examples/c/gpt.c", program)]
