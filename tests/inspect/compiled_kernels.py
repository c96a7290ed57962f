"""The kernels that rules name, of every GPU they hold for: read from the library of the last build,
and for a GPU that it has no code for compiled from the same sources:
python compiled_kernels.py [--missing BUILD] says why a build has none, else shows the last one's.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from machine_code import ROOT, Kernel, compiled, cubins_of, kernels_of
from rules import GPUS, RULES, Rule

LOCK = ROOT / "lib/build/cuda.lock"


def nvcc_of(build: Path) -> Path:
    cache = (build / "CMakeCache.txt").read_text()
    return Path(re.search(r"^CMAKE_CUDA_COMPILER:\w+=(.*)$", cache, re.M)[1])


def why_missing(build: Path) -> str:
    """Why there is nothing to inspect, or what else compiled it than the rules were written for."""
    if build.name != "cuda":
        return "this build has no CUDA"
    pinned = re.search(r"^nvidia-cuda-nvcc==(\S+)$", LOCK.read_text(), re.M)[1]
    command = [nvcc_of(build), "--version"]
    said = subprocess.run(command, capture_output=True, text=True).stdout
    version = re.search(r", V(\S+)", said)
    if not version or version[1] != pinned:
        return f"compiled by nvcc {version[1] if version else '?'}; the rules are for {pinned}"
    return ""


def of_library(build: Path) -> dict[str, list[Kernel]]:
    wanted = re.compile("|".join(rule.kernels for rule in RULES))
    found: dict[str, list[Kernel]] = {}
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        cubins = cubins_of(build / "libflambeau.so.0", Path(folder))
        for kernels in pool.map(lambda cubin: list(kernels_of(cubin, wanted)), cubins):
            for kernel in kernels:
                found.setdefault(kernel.gpu, []).append(kernel)
    return found


def of_sources(build: Path, gpu: str, rules: tuple[Rule, ...] = RULES) -> list[Kernel]:
    nvcc, sources = nvcc_of(build), dict.fromkeys(rule.source for rule in rules)

    def kernels(source: str) -> list[Kernel]:
        wanted = re.compile("|".join(r.kernels for r in rules if r.source == source))
        with tempfile.TemporaryDirectory() as folder:
            file = ROOT / "lib" / f"{source}.kernel.cc"
            return list(kernels_of(compiled(nvcc, file, gpu, Path(folder, "a.cubin")), wanted))

    with ThreadPoolExecutor(2) as pool:
        return [kernel for found in pool.map(kernels, sources) for kernel in found]


def of_build(build: Path) -> dict[str, list[Kernel]]:
    found = of_library(build)
    return {gpu: found.get(gpu) or of_sources(build, gpu) for gpu in GPUS}


FIGURES = ("registers", "shared")


def table(found: dict[str, list[Kernel]]) -> list[str]:
    """A line a family and GPU: how many kernels, and the most that one of them takes."""
    lines = [f"{'family, its first kernel':44} {'GPU':6} kernels registers shared"]
    for rule in RULES:
        for gpu, kernels in found.items():
            named = [k for k in kernels if re.search(rule.kernels, k.name)]
            if named:
                registers, shared = (max(getattr(k, m) for k in named) for m in FIGURES)
                name = named[0].name.split("(")[0].removeprefix("flambeau::cuda::")
                name = name.replace("flambeau::cuda::", "").replace("flambeau::", "")
                lines.append(f"{name:44} {gpu:6} {len(named):7} {registers:9} {shared:6}")
    return lines


if __name__ == "__main__":
    if sys.argv[1:2] == ["--missing"]:
        print(why_missing(Path(sys.argv[2])))
    else:
        last = ROOT / "build" / (ROOT / "build/preset").read_text().strip()
        print(*table(of_build(last)), sep="\n")
