"""What llvm-mca predicts of the library's inner loops on the cores of both vendors:
python inner_loops.py [--write]

Each loop is taken from the objects of the last build, as it was compiled, so that the numbers are
the same on every machine with this compiler. A cell says the cycles of an element and the share of
them that the loop's own instructions take at the least, by ports and width: what is missing to 100
% waits for results. For products it is the cycles of a multiply-add of vectors, and the share that
these alone would take.
--write keeps the table in results/; tests/inner_loops holds the library to it.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from inner_loop import (
    bytes_moved,
    functions,
    inner_loops,
    is_vector,
    mca,
    multiply_add_cycles,
    multiply_adds,
    predict,
    register_bytes,
    vector_bytes,
)

ROOT = Path(__file__).resolve().parents[3]
KEPT = ROOT / "tests" / "bench" / "results" / "inner-loops.md"

# A processor by llvm's name, and the build of the kernels that runs on it.
PROCESSORS = {
    "sapphirerapids": "avx512",
    "skylake-avx512": "avx512",
    "znver4": "avx512",
    "znver3": "avx2",
}


class Loop(NamedTuple):
    source: str  # below lib, without .kernel.cc
    function: str  # what its demangled name holds, an expression
    element: int  # bytes of an element
    product: bool = False
    rather: str = ""  # what another function's name holds that goes before it, where there is one


def of_map(source: str, functor: str, operands: int, element: str = "float") -> Loop:
    types = ", ".join([element] * (1 + operands))
    width = {"float": 4, "double": 8}[element]
    lanes = rf"usual_lanes<\d+, {types}, \S*::{functor}OnLanes"
    name = rf"map_dense\w*<\S*::{functor}, {types}>|{lanes}"
    rather = rf"map_eights<\S*::{functor}, " if element == "float" else ""
    return Loop(f"ops/elementwise/{source}", name, width, rather=rather)


def of_rows(functor: str) -> Loop:
    return Loop("ops/nn/rows", rf"single_rows<\S*::{functor}<float>, \S*::OwnRows<float>", 4)


LOOPS = {
    "product, f32": Loop("kernels/gemm/gemm", r"\bmicro<float, ", 4, True),
    "product, f64": Loop("kernels/gemm/gemm", r"\bmicro<double, ", 8, True),
    "convolution, pixels": Loop("kernels/conv/conv", r"segment_micro<float, ", 4, True),
    "convolution, lanes": Loop("kernels/conv/conv", r"lane_micro<float, ", 4, True),
    "add": of_map("binary", "Add", 2),
    "mul": of_map("binary", "Mul", 2),
    "div": of_map("binary", "Div", 2),
    "maximum": of_map("binary", "Maximum", 2),
    "lerp": of_map("ternary", "Lerp", 3),
    "addcmul": of_map("ternary", "Addcmul", 3),
    "relu": of_map("activation", "Relu", 1),
    "relu, backward": of_map("activation", "ReluSlope", 2),
    "gelu": of_map("activation", "Gelu", 1),
    "silu": of_map("activation", "Silu", 1),
    "sigmoid": of_map("pointwise", "Sigmoid", 1),
    "tanh": of_map("pointwise", "Tanh", 1),
    "tanh, backward": of_map("pointwise", "TanhSlope", 2),
    "exp": of_map("pointwise", "Exp", 1),
    "exp, f64": of_map("pointwise", "Exp", 1, "double"),
    "log": of_map("pointwise", "Log", 1),
    "erf": of_map("pointwise", "Erf", 1),
    "sqrt": of_map("pointwise", "Sqrt", 1),
    "rsqrt": of_map("pointwise", "Rsqrt", 1),
    "abs": of_map("pointwise", "Abs", 1),
    "round": of_map("pointwise", "Round", 1),
    "softmax": of_rows("Softmax"),
    "log_softmax, backward": of_rows("LogSoftmaxBackward"),
    "cross entropy, backward": of_rows("CrossEntropyBackward"),
    "layer norm": of_rows("LayerNorm"),
    "sum of rows": Loop("kernels/fold/fold", r"fold_rows<\S*::SumOf<float>, float>", 4),
    "sum of columns": Loop("kernels/fold/fold", r"fold_columns<\S*::SumOf<float>, float>", 4),
}


class Cell(NamedTuple):
    cycles: float  # of an element, or of a vector's multiply-add
    share: float

    def __str__(self) -> str:
        return f"{self.cycles:.3g} ({self.share:.0%})"


def objects(build: Path, isa: str, source: str) -> Path:
    return build / f"CMakeFiles/flambeau_kernels_{isa}.dir/lib/{source}.kernel.cc.o"


def found_loop(loop: Loop, path: Path) -> list:
    """The inner loop of all functions of the name that does most with vectors."""
    counted = "fma" if loop.product else ""

    def code_of(expression: str) -> list:
        return [c for name, c in functions(path).items() if re.search(expression, name)]

    code = (loop.rather and code_of(loop.rather)) or code_of(loop.function)
    loops = [found for c in code for found in inner_loops(c) if not calls(found)]
    return max(loops, key=lambda found: vector_bytes(found, counted), default=[])


def calls(loop: list) -> bool:
    return any(i.name.startswith("call") for i in loop)


def cell(loop: Loop, build: Path, processor: str) -> Cell:
    found = found_loop(loop, objects(build, PROCESSORS[processor], loop.source))
    if not found:
        raise LookupError(f"no loop of vectors in {loop.function} of {loop.source}.kernel.cc")
    taken, bound = predict(found, processor)
    if loop.product:
        n = multiply_adds(found)
        width = max(register_bytes(i) for i in found if is_vector(i))
        return Cell(taken / n, n * multiply_add_cycles(width, processor) / taken)
    elements = bytes_moved(found) / loop.element
    return Cell(taken / elements, bound / taken)


def table(build: Path) -> dict[str, dict[str, Cell]]:
    return {
        name: {processor: cell(loop, build, processor) for processor in PROCESSORS}
        for name, loop in LOOPS.items()
    }


def text(cells: dict[str, dict[str, Cell]]) -> str:
    lines = [f"| | {' | '.join(PROCESSORS)} |", "|---|" + "---:|" * len(PROCESSORS)]
    lines += [f"| {name} | {' | '.join(map(str, row.values()))} |" for name, row in cells.items()]
    return "\n".join(lines) + "\n"


def kept() -> dict[str, dict[str, Cell]]:
    """The table that was written last."""
    rows = [line.strip("| \n").split(" | ") for line in KEPT.read_text().splitlines()]
    number = re.compile(r"([\d.e+-]+) \((\d+)%\)")
    found = {}
    for name, *cells in rows:
        matches = [number.fullmatch(cell) for cell in cells]
        if cells and all(matches):
            values = [Cell(float(m[1]), int(m[2]) / 100) for m in matches]
            found[name] = dict(zip(PROCESSORS, values, strict=True))
    return found


def compiler() -> str:
    said = subprocess.run(["g++", "-dumpversion"], capture_output=True, text=True).stdout
    return f"g++ {said.strip().split('.')[0]}"


ABOUT = """# The inner loops on both vendors' cores

Predicted by llvm-mca 19 from the code that {compiler} makes: cycles of an element, and the share of
them that the loop's own instructions take at the least; for products the cycles of a multiply-add
of vectors, and the share of the peak. znver3 runs the AVX2 build, the others that for AVX-512. The
models have faults of their own: sapphirerapids does one multiply-add of 512 bits in a cycle, where
the processor does two, and znver4 counts an operand that is broadcast from memory as half a
multiply-add more. Kept by `python tests/bench/loops/inner_loops.py --write`.

"""


def missing(build: Path) -> str:
    """Why the kept table says nothing here, or nothing."""
    if not mca():
        return "llvm-mca 19 is not there: apt-get install llvm-19"
    if not all(objects(build, isa, "kernels/gemm/gemm").exists() for isa in PROCESSORS.values()):
        return "this build has not all instruction sets"
    if f"that {compiler()} makes" not in KEPT.read_text():
        return f"{KEPT.name} is of another compiler than {compiler()}"
    return ""


def main() -> int:
    if "--missing" in sys.argv:
        print(missing(Path(sys.argv[-1])))
        return 0
    if not mca():
        print("llvm-mca 19 is not there: apt-get install llvm-19")
        return 1
    build = ROOT / "build" / (ROOT / "build" / "preset").read_text().strip()
    found = text(table(build))
    print(found)
    if "--write" in sys.argv:
        KEPT.write_text(ABOUT.format(compiler=compiler()) + found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
