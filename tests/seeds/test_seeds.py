"""Programs of the kinds that people write first for a GPU, unchanged from PyTorch (`import torch`):
each ends well on the device, says that it was there, learns, and learns the same on the cpu.
"""

import pathlib
import re

import pytest

from tests.harness import child

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = sorted(p for p in HERE.glob("*.py") if p.stem not in ("conftest", "test_seeds"))
ON_THE_CPU = {"FLAMBEAU_SIM": "", "CUDA_VISIBLE_DEVICES": ""}
HALF = ("mixed_precision", "several_devices")  # what autocast computes in differs by device


def run(program, **environment):
    """(device, losses) that a program prints."""
    done = child.python("-m", "flambeau.as_torch", program, timeout=120, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    losses = [float(x) for x in re.findall(r"^loss (\S+)$", done.stdout, re.M)]
    return re.search(r"^device (\w+)$", done.stdout, re.M).group(1), losses


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.stem)
def test_programs_learn_alike_on_every_device(program, request):
    on_cpu = request.config.getoption("--device") == "cpu"
    device, losses = run(program, **(ON_THE_CPU if on_cpu else {}))
    assert device == ("cpu" if on_cpu else "cuda")
    assert len(losses) > 3 and losses[-1] < 0.9 * losses[0], losses
    if not on_cpu:
        near = 3e-2 if program.stem in HALF else 1e-3
        assert run(program, **ON_THE_CPU) == ("cpu", pytest.approx(losses, rel=near))
