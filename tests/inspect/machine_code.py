"""Compiled CUDA kernels as NVIDIA's tools read them: what a thread and a block take, by the code
itself instead of a build's log, and every instruction with the loops that hold it.
"""

from __future__ import annotations

import functools
import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WIDTH = 16  # bytes of an instruction
LIMIT, COMPILING = 120, 900  # seconds that a tool may take
RESERVED = 1024  # bytes of shared memory that are CUDA's own from 9.0 on, in a block that has any
RESOURCES = re.compile(r"Function (\S+):\s+REG:(\d+) STACK:(\d+) SHARED:(\d+) LOCAL:(\d+)")


def run(*command: str | Path, limit: int = LIMIT) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=limit, cwd=ROOT)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}:\n{done.stdout}{done.stderr}")
    return done.stdout


@functools.cache
def tool(name: str) -> Path:
    return Path(run("lib/build/cuda_inspect.sh").strip()) / name


@dataclass(frozen=True)
class Instruction:
    opcode: str
    operands: str

    @property
    def target(self) -> int | None:
        """Where a branch leads, in bytes."""
        said = re.search(r"0x([0-9a-f]+)$", self.operands)
        return int(said[1], 16) if said and self.opcode.startswith("BRA") else None


@dataclass(frozen=True)
class Kernel:
    name: str
    gpu: str  # "sm_90"
    registers: int  # of a thread
    stack: int  # bytes of a thread: arrays that no register holds, and spilled registers
    shared: int  # bytes of a block that are known when it is compiled
    code: tuple[Instruction, ...]

    def loops(self) -> list[range]:
        """Of indices into `code`: what lies between a branch and where it leads back to."""
        return [
            range(i.target // WIDTH, at + 1)
            for at, i in enumerate(self.code)
            if i.target is not None and i.target < at * WIDTH
        ]

    def repeated(self) -> set[str]:
        """What any loop holds."""
        held = {at for loop in self.loops() for at in loop}
        return {spelling(self.code[at]) for at in held}

    def main_loops(self, mark: str) -> list[set[str]]:
        """What the innermost loops hold that have an instruction `mark`."""
        marks = [at for at, i in enumerate(self.code) if re.match(mark, i.opcode)]
        around = (min((o for o in self.loops() if at in o), key=len, default=None) for at in marks)
        inner = dict.fromkeys(loop for loop in around if loop)
        return [{spelling(self.code[at]) for at in loop} for loop in inner]


def spelling(i: Instruction) -> str:
    """The opcode; of a call whom it calls, too."""
    return f"{i.opcode} {i.operands}" if i.opcode.startswith("CALL") else i.opcode


def demangled(names: list[str]) -> dict[str, str]:
    said = subprocess.run(
        ["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True
    )
    return dict(zip(names, said.stdout.splitlines(), strict=True))


def kernels_of(cubin: Path, wanted: re.Pattern[str]) -> Iterator[Kernel]:
    """Those whose demangled name matches; only they are disassembled."""
    found = RESOURCES.findall(run(tool("cuobjdump"), "-res-usage", cubin))
    names = demangled([name for name, *_ in found])
    chosen = [f for f in found if wanted.search(names[f[0]])]
    if not chosen:
        return
    symbols = re.findall(r"^ +(\d+): .* FUNC .* (\S+)$", run("readelf", "-sW", cubin), re.M)
    indices = {name: index for index, name in symbols}
    listed = ",".join(indices[name] for name, *_ in chosen)
    # Without its analysis of the data's flow, which takes minutes where a file has many kernels.
    said = run(tool("nvdisasm"), "-json", "-ndf", "-fun", listed, cubin)
    head, functions = json.loads(said)
    gpu = "sm_{major}{minor}".format(**head["SM"]["version"])
    code = {f["function-name"]: f["sass-instructions"] for f in functions}
    for name, registers, stack, shared, local in chosen:
        instructions = (Instruction(i["opcode"], i.get("operands", "")) for i in code[name])
        yield Kernel(
            names[name].removeprefix("void "),
            gpu,
            int(registers),
            int(stack) + int(local),
            int(shared)
            - (RESERVED if shared != "0" and head["SM"]["version"]["major"] >= 9 else 0),
            tuple(instructions),
        )


def cubins_of(library: Path, folder: Path) -> list[Path]:
    """Everything that a library or an object has for GPUs, unpacked into the folder."""
    unpack = [tool("cuobjdump"), "-xelf", "all", library.resolve()]
    subprocess.run(unpack, cwd=folder, capture_output=True, check=True, timeout=LIMIT)
    return sorted(folder.glob("*.cubin"))


def compiled(nvcc: Path, source: Path, gpu: str, cubin: Path, lib: Path = ROOT / "lib") -> Path:
    """The source for one GPU, as the build compiles it (lib/build/cuda/CMakeLists.txt)."""
    flags = "-cubin -x cu -std=c++20 -O3 -DNDEBUG -DFLAM_TARGET=cuda --expt-relaxed-constexpr"
    flags += " --extended-lambda --diag-suppress=186"
    folders = [
        f"-I{lib}",
        f"-I{ROOT / 'include'}",
        "-isystem",
        nvcc.parents[1] / "include",
    ]
    command = [nvcc, *flags.split(), *folders, f"-arch={gpu}", "-o", cubin, source]
    run(*command, limit=COMPILING)
    return cubin
