"""Compares the op table, and what torch has beside ops, with PyTorch: `make test-torch`.

    python tests/torch/run.py [--rows NAME,...] [--samples NAME,...|all] [--layers NAME,...|all]
                              [--most N] [--all] [--device NAME] [--beside NAME] [--part K/N]

PyTorch is that of the interpreter named by TORCH_PYTHON, else of .venv-torch, and is imported here
beside flambeau. Fails on differences that differences.py does not name, and on names there that no
longer differ. --all prints every difference; --rows looks at some rows only, --samples at PyTorch's
own samples of some operators or layers (or all), --most at so many per dtype (0: at those that have
to be refused). --device cuda looks at each row's operation there, in the dtypes that train, with
gradients, beside PyTorch's on the same device, or on that of --beside; --part at a part of the
rows.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ABOUT = (
    "import sys, torch, pathlib; "
    "print(*sys.version_info[:2], pathlib.Path(torch.__file__).parents[1])"
)
OFFER = """no PyTorch to compare with: {why}
  make torch-env                  installs it into .venv-torch (some GB), or
  make test-torch TORCH_PYTHON=...  names an interpreter that has it"""


def torch_folder():
    """Where the PyTorch of another interpreter lies, if this one can import it."""
    python = os.environ.get("TORCH_PYTHON") or str(ROOT / ".venv-torch" / "bin" / "python")
    try:
        asked = subprocess.run([python, "-c", ABOUT], capture_output=True, text=True)
    except OSError as e:
        raise SystemExit(OFFER.format(why=e)) from None
    if asked.returncode:
        raise SystemExit(OFFER.format(why=f"{python} cannot import torch"))
    major, minor, folder = asked.stdout.strip().split(" ", 2)
    if (int(major), int(minor)) != sys.version_info[:2]:
        raise SystemExit(OFFER.format(why=f"{python} is Python {major}.{minor}, not this version"))
    return folder


def load(standin=False):
    """flambeau and PyTorch in one process: PyTorch's packages come after those of this one, but
    while it is imported, as it looks for its CUDA libraries along the path. Over a stand-in for
    them its product is opened first: what is loaded already would be taken, and that is NVIDIA's.
    """
    sys.path[:0] = [str(ROOT), str(ROOT / "bindings" / "python"), str(ROOT / "tests" / "ops")]
    import flambeau

    if standin:
        flambeau.ones(1, 1, device="cuda").mm(flambeau.ones(1, 1, device="cuda"))
    folder = torch_folder()
    sys.path.insert(0, folder)
    import torch

    sys.path.remove(folder)
    sys.path.append(folder)
    torch.set_num_threads(1)
    return flambeau, torch


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", default="")
    parser.add_argument("--samples", default="")
    parser.add_argument("--layers", default="")
    parser.add_argument("--most", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--beside", default="")
    parser.add_argument("--part", default="1/1")
    options = parser.parse_args()
    here = str(pathlib.Path(__file__).resolve().parent)
    sys.path[:] = [p for p in sys.path if p != here]
    beside = options.beside or options.device
    flambeau, torch = load(standin=options.device != beside)
    from tests.harness.part import Part
    from tests.torch import expressions, graph, hooks, modules, report, samples, walk, words
    from tests.torch.library import Library

    ours, theirs = Library(flambeau, None, options.device), Library(torch, flambeau, beside)
    asked = (options.rows, options.samples, options.layers)
    rows, operators, layers = (list(filter(None, o.split(","))) for o in asked)
    some = bool(rows or operators or layers) or options.device != "cpu"
    only = (operators or layers) and not rows
    found = walk.Found() if only else walk.everything(ours, theirs, rows, Part.read(options.part))
    if not some:
        expressions.into(found, ours, theirs)
        graph.into(found, ours, theirs)
        hooks.into(found, ours, theirs)
        words.into(found, ours, theirs)
    if layers or not some:
        modules.into(found, ours, theirs, [] if layers == ["all"] else layers, options.jobs)
    if operators or not some:
        chosen = [] if operators == ["all"] else operators
        samples.into(found, ours, theirs, chosen, options.jobs, options.most)
    return report.shown(found, torch.__version__, every=options.all, whole=not some)


if __name__ == "__main__":
    sys.exit(main())
