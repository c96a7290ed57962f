"""Programs of tests in processes of their own, which find the modules that the test does."""

import os
import subprocess
import sys
from pathlib import Path


def gpus(settings):
    """Of a process whose GPUs are simulated so: below CUDA's calls where that is the library."""
    standin = Path(os.environ.get("FLAMBEAU_LIBRARY", "")).parent.name == "standin"
    return {"FLAMBEAU_SIM": settings if standin else f"{settings},as=cuda"}


def python(*arguments, timeout=None, text=None, before=None, **environment):
    """How a Python ended that got `text` to read and called `before` in its process first."""
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | environment,
        capture_output=True,
        text=True,
        input=text,
        timeout=timeout,
        preexec_fn=before,
    )


def output(program, *arguments, **environment):
    """What a program printed that has to end well."""
    done = python("-c", program, *arguments, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout
