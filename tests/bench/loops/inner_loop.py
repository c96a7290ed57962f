"""The inner loops of a compiled function, and what llvm-mca predicts of one on a processor.

A loop is what a backward jump encloses; an inner one encloses no other. llvm-mca sees a loop's
instructions as they were compiled, its jump back left out, and takes every load to hit the first
cache: its cycles are what the core itself can do.
"""

from __future__ import annotations

import functools
import re
import subprocess
from pathlib import Path
from typing import NamedTuple

INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\s+(?:\{\w+\} )?(\S+)\s*(.*?)(?:\s+<.*>)?(?:\s+#.*)?$")
HEADING = re.compile(r"^[0-9a-f]+ <(.*)>:$")
CYCLES = re.compile(r"^Total Cycles:\s+(\d+)", re.MULTILINE)
BOUND = re.compile(r"^Block RThroughput:\s+([\d.]+)", re.MULTILINE)
FRAME = re.compile(r"\(%rsp|-0x[0-9a-f]+\(%rbp\)")  # what had no register left
REGISTERS = {"%zmm": 64, "%ymm": 32, "%xmm": 16}  # widest first, bytes
ITERATIONS = 200


class Instruction(NamedTuple):
    address: int
    name: str
    operands: str

    @property
    def text(self) -> str:
        return f"{self.name} {self.operands}"


@functools.cache
def functions(path: Path) -> dict[str, list[Instruction]]:
    """The code of an object file by demangled name."""
    command = ["objdump", "-dC", "--no-show-raw-insn", "--wide", str(path)]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found: dict[str, list[Instruction]] = {}
    code: list[Instruction] = []
    for line in listing.splitlines():
        if heading := HEADING.match(line):
            code = found.setdefault(heading[1], [])
        elif match := INSTRUCTION.match(line):
            code.append(Instruction(int(match[1], 16), match[2], match[3]))
    return found


def inner_loops(code: list[Instruction]) -> list[list[Instruction]]:
    place = {instruction.address: i for i, instruction in enumerate(code)}
    spans = []
    for i, instruction in enumerate(code):
        target = instruction.operands.split(" ")[0]
        if instruction.name.startswith("j") and re.fullmatch("[0-9a-f]+", target):
            start = place.get(int(target, 16), len(code))
            if start <= i:
                spans.append((start, i))
    inner = [s for s in spans if not any(s != t and s[0] <= t[0] and t[1] <= s[1] for t in spans)]
    return [code[start : end + 1] for start, end in inner]


def is_vector(instruction: Instruction) -> bool:
    return any(register in instruction.operands for register in REGISTERS)


def vector_bytes(loop: list[Instruction], counted: str = "") -> int:
    """The widths of a loop's vector registers in all, of instructions whose names hold a word."""
    return sum(register_bytes(i) for i in loop if is_vector(i) and counted in i.name)


def mca() -> str | None:
    """llvm-mca that knows the processors of the table."""
    for name in ("llvm-mca-19", "llvm-mca"):
        try:
            said = subprocess.run([name, "--version"], capture_output=True, text=True).stdout
        except OSError:
            continue
        version = re.search(r"LLVM version (\d+)", said)
        if version and int(version[1]) >= 19:
            return name
    return None


class Prediction(NamedTuple):
    cycles: float  # of one pass, when many follow one another
    bound: float  # what the pass's own instructions take at the least: ports and width


@functools.cache
def predicted(source: str, processor: str) -> Prediction:
    command = [mca() or "llvm-mca", f"-mcpu={processor}", f"-iterations={ITERATIONS}"]
    command += ["-summary-view", "-resource-pressure=false", "-instruction-info=false"]
    done = subprocess.run(command, input=source, capture_output=True, text=True)
    cycles, bound = CYCLES.search(done.stdout), BOUND.search(done.stdout)
    if not cycles or not bound:
        raise RuntimeError(f"llvm-mca on {processor}: {done.stderr}\n{source}")
    return Prediction(int(cycles[1]) / ITERATIONS, float(bound[1]))


def predict(loop: list[Instruction], processor: str) -> Prediction:
    skipped = ("j", "nop", "cs", "data16", "xchg")
    lines = [i.text for i in loop if not i.name.startswith(skipped)]
    return predicted("\n".join(lines) + "\n", processor)


def multiply_add_cycles(width: int, processor: str) -> float:
    """What a multiply-add of vectors of so many bytes costs in the model of a processor."""
    r = next(name for name, bytes_ in REGISTERS.items() if bytes_ == width)
    lines = [f"vfmadd231ps {r}14, {r}15, {r}{i}" for i in range(12)]
    return predicted("\n".join(lines) + "\n", processor).cycles / len(lines)


def multiply_adds(loop: list[Instruction]) -> int:
    return sum("fmadd" in i.name or "fnmadd" in i.name for i in loop if is_vector(i))


def bytes_moved(loop: list[Instruction]) -> int:
    """Of vectors: those stored, or where a pass stores none those loaded; not what is spilled."""
    vectors = [i for i in loop if is_vector(i) and not FRAME.search(i.operands)]
    stored = sum(register_bytes(i) for i in vectors if i.operands.endswith(")"))
    return stored or sum(register_bytes(i) for i in vectors if "(" in i.operands)


def register_bytes(instruction: Instruction) -> int:
    return next(n for name, n in REGISTERS.items() if name in instruction.operands)
