"""Writes the golden values next to this file. Run with PyTorch's Python from the repository's root:

python -m tests.golden.make
"""

import json
import pathlib

import torch

from tests.golden import distributions, functions, layers, modules, stepping, transforms


def rounded(value):
    """Ten digits are more than any comparison needs."""
    if isinstance(value, float):
        return float(f"{value:.10g}")
    if isinstance(value, list):
        return [rounded(v) for v in value]
    if isinstance(value, dict):
        return {key: rounded(v) for key, v in value.items()}
    return value


def main():
    for part in distributions, functions, layers, modules, stepping, transforms:
        rows = {name: rounded(part.results(torch, name)) for name in part.CASES}
        text = ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items())
        pathlib.Path(part.__file__).with_suffix(".json").write_text("{\n" + text + "\n}\n")


if __name__ == "__main__":
    main()
