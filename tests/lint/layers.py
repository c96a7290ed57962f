"""Who may include whom. The layers of lib/ stand in a row; a file sees its own layer and those
before it, the feature layers (nn, optim, ...) do not see each other, no folders see each other in
a circle, and CUDA's headers stay with the code that nvcc compiles or that is built only with CUDA.
"""

from __future__ import annotations

import re
from pathlib import Path

ROW = ["base", "device", "tensor", "kernels", "graph", "ops", "engine", "features", "capi"]
FEATURES = {"nn", "optim", "amp", "data", "dist", "io", "observe"}
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.M)
CUDA = re.compile(
    r"^(cuda|cu[A-Z]|cublas|cudnn|cufft|curand|cusparse|nccl|nvrtc|nvml|cupti|nvToolsExt)\w*\.h|"
    r"^(cub|thrust|cuda|cooperative_groups)/"
)


def rank(layer: str) -> int:
    return ROW.index("features" if layer in FEATURES else layer)


def may_use_cuda(path: Path) -> bool:
    return (
        "device/cuda/" in path.as_posix()
        or path.suffix == ".cu"
        or path.name.endswith(".kernel.cc")
        or path.stem.startswith("cuda_")
        or path.stem.endswith("_cuda")
    )


def folder_of(name: str) -> str:
    return name.rpartition("/")[0]


def circles(seen: dict[str, dict[str, str]]) -> list[str]:
    """`seen`: per folder, the folders that it includes from, with the place of one include."""
    faults, done, path = [], set(), []

    def visit(folder: str) -> None:
        path.append(folder)
        for other in sorted(seen.get(folder, {})):
            if other in path:
                around = " -> ".join([*path[path.index(other) :], other])
                faults.append(f"{seen[folder][other]}: folders include in a circle: {around}")
            elif other not in done:
                visit(other)
        done.add(path.pop())

    for folder in sorted(seen):
        if folder not in done:
            visit(folder)
    return faults


def check(root: Path, files: list[Path]) -> list[str]:
    faults = []
    seen: dict[str, dict[str, str]] = {}
    for path in files:
        parts = path.parts
        if parts[0] != "lib" or path.suffix not in {".cc", ".h", ".cu"}:
            continue
        layer = parts[1]
        if layer not in FEATURES and layer not in ROW:
            known = ", ".join([*ROW, *sorted(FEATURES)])
            faults.append(f"{path}: lib/{layer} is not a layer; they are {known}")
            continue
        text = (root / path).read_text()
        for match in INCLUDE.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            quote, name = match.groups()
            if quote == "<" and CUDA.match(name) and not may_use_cuda(path):
                faults.append(f"{path}:{line}: <{name}> is for lib/device/cuda and nvcc's files")
            used = name.split("/")[0]
            if quote == "<" or used not in FEATURES | set(ROW):
                continue
            own, other = folder_of(path.as_posix())[len("lib/") :], folder_of(name)
            if own != other and not {"gen", "cuda"} & {own.split("/")[-1], other.split("/")[-1]}:
                seen.setdefault(own, {})[other] = f"{path}:{line}"
            if used == layer:
                continue
            if rank(used) > rank(layer):
                faults.append(
                    f'{path}:{line}: {layer} does not see {used} ("{name}"), which comes after it'
                )
            elif rank(used) == rank(layer):
                faults.append(f'{path}:{line}: {layer} and {used} do not see each other ("{name}")')
    return faults + circles(seen)
