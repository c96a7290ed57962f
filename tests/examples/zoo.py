"""The models of the examples at their smallest, as commands, and what they print."""

import json
import re
import subprocess
import sys
from collections import Counter

import programs

COMMON = "--batch-size", 4, "--warmup", 2, "--report", 1
SMALL = {
    "gpt2": ("--layers", 1, "--heads", 2, "--width", 16, "--context", 8, "--length", 8),
    "resnet50": ("--blocks", 1, 1, 1, 1, "--width", 4, "--size", 16, "--classes", 4, "--count", 40),
    "lstm": ("--layers", 2, "--width", 16, "--window", 4, "--length", 4, "--clip", 0),
}
RATES = {"gpt2": 0.02, "resnet50": 0.05, "lstm": 0.2}
TEXT = "the quick brown fox jumps over the lazy dog and runs away .\n" * 20

# Ends the process as a machine that fails would, before a step that is named.
KILLED = """
import os, signal, sys
sys.path.insert(0, "examples/python")
import training
at, name = int(sys.argv.pop()), sys.argv.pop(1)
step = training.Training._step
def dies(self, *given):
    if self.step == at:
        os.kill(os.getpid(), signal.SIGKILL)
    return step(self, *given)
training.Training._step = dies
__import__(name).main()
"""

# Leaves what was launched in a file that is named.
PROFILED = """
import sys
sys.path.insert(0, "examples/python")
import flambeau as torch
trace, name = sys.argv.pop(), sys.argv.pop(1)
with torch.profiler.profile() as found:
    __import__(name).main()
found.export_chrome_trace(trace)
"""


def options(name, text, *more):
    """What makes a model small, and learn fast."""
    read = () if name == "resnet50" else ("--text", text)
    return [*SMALL[name], *COMMON, "--lr", RATES[name], *read, *more]


def train(name, text, *more, **env):
    """What a training prints."""
    return programs.run([*programs.python_program(name), *options(name, text, *more)], **env)


def killed(name, text, step, *more):
    """Whether a training ended before this step by being killed."""
    command = [sys.executable, "-c", KILLED, name, *options(name, text, *more), step]
    ended = subprocess.run(
        [str(c) for c in command], cwd=programs.ROOT, env=programs.environment(),
        timeout=120, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == -9, ended.stdout + ended.stderr
    return ended.stdout


def kernels(name, text, trace, *more, **env):
    """What a training launched: pairs of an operation and its kernel, with how often."""
    command = [sys.executable, "-c", PROFILED, name, *options(name, text, *more), trace]
    programs.run(command, **env)
    ran = [e for e in json.loads(trace.read_text())["traceEvents"] if e.get("cat") == "kernel"]
    symbols = [re.sub(r"^void |\w+::|[<(].*", "", e["args"].get("symbol", "")) for e in ran]
    return Counter((e["name"].removesuffix("_kernel"), s) for e, s in zip(ran, symbols))


def losses(output):
    """Of each step that was reported, by its number, as it is printed."""
    return dict(re.findall(r"^step +([0-9]+)   loss ([0-9.]+)\b", output, re.MULTILINE))


def numbers(output):
    return [float(loss) for loss in losses(output).values()]
