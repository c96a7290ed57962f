"""What the check on a GPU consists of: parts, each a command that is done long before the time is
over, over the library of one folder on device `cuda`. The suites are those of tests/suites.py, cut
where they last; beside them the op table's rows next to PyTorch's, a few under compute-sanitizer,
and the figures.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import suites
from suites import ROOT, Suite

SPEED = "speed"
TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
# Rows by the ways in which kernels share memory: results and gradients in float32.
ROWS = (
    "add sum softmax cumsum sort topk layer_norm batch_norm cross_entropy where",
    "matmul linear conv2d max_pool2d embedding index_add gather scaled_dot_product_attention lstm",
)
FIND = "import importlib.util as u, sys; sys.exit(not u.find_spec('torch'))"


def pytorch() -> tuple[str, str]:
    """The interpreter that has PyTorch, and why it cannot be had."""
    python = os.environ.get("TORCH_PYTHON") or sys.executable
    try:
        found = subprocess.run([python, "-c", FIND], capture_output=True).returncode == 0
    except OSError:
        found = False
    return python, "" if found else f"no PyTorch in {python}: TORCH_PYTHON names one that has it"


class Parts:
    """On the stand-ins PyTorch is on the cpu, and there is one device, as on most machines."""

    def __init__(self, folder: Path, device: str):
        self.folder, self.device = folder, device
        self.places = ("--beside", "cpu" if device == "standin" else "cuda")
        paths = [str(ROOT / "bindings" / "python"), os.environ.get("PYTHONPATH", "")]
        self.path = {"PYTHONPATH": os.pathsep.join(p for p in paths if p)}
        place = "standin/libflambeau.so.0" if device == "standin" else "libflambeau.so.0"
        self.environment = self.path | {"FLAMBEAU_LIBRARY": str(folder / place)}
        self.standin = {"FLAMBEAU_SIM": "devices=1,memory=256MiB"} if device == "standin" else {}
        self.environment |= self.standin

    def python(self, name: str, script: str, *options: str, needs=("cffi", "numpy"), **more):
        command = [sys.executable, str(ROOT / script), *options]
        return Suite(
            name, command, self.environment, missing=suites.missing_modules(*needs), **more
        )

    def of_library(self) -> list[Suite]:
        listed = []
        for suite in suites.of_library(self.folder, (self.device,)):
            simulated = self.standin if "FLAMBEAU_SIM" in suite.env else {}
            listed.append(replace(suite, env=self.path | suite.env | simulated))
        return listed

    def beside_pytorch(self) -> Suite:
        python, absent = pytorch()
        suite = self.python(
            "beside PyTorch",
            "tests/torch/run.py",
            *("--device", "cuda", *self.places),
            count=4,
            part=("--part={k}/{n}",),
        )
        suite.env = suite.env | {"TORCH_PYTHON": python}
        return replace(suite, missing=suite.missing or absent)

    def sanitized(self, tool: str) -> list[Suite]:
        """Rows of the op table and the kernels that a training step launches, under one tool."""
        program = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
        prefix = [program, "--tool", tool, "--error-exitcode", "9", "--target-processes", "all"]
        saved = self.folder / f"digits-{tool}.safetensors"
        options = ("--conv", "--device", "cuda", "--epochs", "1", "--workers", "0")
        listed = [
            self.python("digits", "examples/python/digits.py", *options, "--save", str(saved))
        ]
        for number, rows in enumerate(ROWS, 1):
            test = "tests/ops/test_ops.py::test_device_agrees_with_cpu[cuda:0-{}]"
            tests = [test.format(row) for row in rows.split()]
            name, option = f"rows {number}/{len(ROWS)}", f"--device={self.device}"
            suite = suites.pytest(name, ["tests/ops"], option, env=self.environment)
            at = suite.command.index("tests/ops")
            suite.command[at : at + 1] = tests
            listed.append(suite)
        missing = "" if Path(program).exists() else "compute-sanitizer is not there"
        return [
            replace(
                suite,
                name=f"sanitizer: {tool}, {suite.name}",
                command=prefix + suite.command,
                missing=missing or suite.missing,
            )
            for suite in listed
        ]

    def programs(self, folder: str) -> list[Suite]:
        """Others' scripts, which say `import torch`."""
        found = sorted(Path(folder).glob("*.py")) if folder else []
        command = [sys.executable, "-m", "flambeau.as_torch"]
        environment = self.environment | {"MPLBACKEND": "Agg"}
        return [
            Suite(path.stem, [*command, str(path.resolve())], environment, self.folder)
            for path in found
        ]

    def side_by_side(self, programs: str) -> list[Suite]:
        listed = [*self.of_library(), self.beside_pytorch(), *self.programs(programs)]
        for tool in TOOLS:
            listed += self.sanitized(tool)
        return [part for suite in listed for part in suite.parts()]

    def timed(self) -> Suite:
        """By itself, as what runs beside it would count; without PyTorch it says so."""
        suite = self.python(SPEED, "tests/gpu_check/speed.py", *self.places)
        suite.env = suite.env | {"TORCH_PYTHON": pytorch()[0]}
        return suite
