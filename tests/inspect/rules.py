"""What the machine code of each family of CUDA kernels must be, a line a family. For every listed
kernel: no array and no register in local memory, no arithmetic of doubles where its types are not
double, and no 64-bit division where code repeats. A new family gets a line; one that lost its
kernels fails.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from machine_code import Kernel, spelling

GPUS = ("sm_80", "sm_90")

DOUBLES = r"D(ADD|MUL|FMA|SETP|MNMX)\b|[FI]2F\S*\.F64|F2I\S*\.F64|MUFU\.\w+64H"
DIVISION = r"CALL\S* \S*_(div|rem)_[su]64"
LOCAL = r"(LDL|STL)\b"
TENSOR = r"HG?MMA\b"  # f16 and bf16
FMA = r"FFMA\b"
MATRICES = r"LDSM\b"
COPIES = r"LDGSTS\S*\.128\b"  # to shared memory past the registers
WORD_COPIES = r"LDGSTS\b"
WIDE_SHARED = r"LDS\S*\.128\b"
WIDE_LOADS = r"LDG\S*\.128\b"
WIDE_STORES = r"STG\S*\.128\b"
WIDE_ACCESS = r"(LDG|STG)\S*\.128\b"
VECTORS = (WIDE_LOADS, WIDE_STORES)


@dataclass(frozen=True)
class Rule:
    kernels: str  # what the demangled name holds, an expression
    source: str  # below lib, without .kernel.cc
    registers: int  # of a thread, at most
    shared: int = 0  # bytes of a block that are declared, at most
    needs: tuple[str, ...] = ()  # instructions that are there
    main: tuple[str, ...] = ()  # those of the innermost loops around the first of them
    main_lacks: tuple[str, ...] = (DIVISION,)
    divides: bool = False  # 64-bit divisions repeat, until someone mends that
    doubles: bool = False  # and doubles are calculated with


CONV, FOLD = "kernels/conv/conv", "kernels/fold/fold"
DIRECT, IN_PLANES = "kernels/conv/conv_direct", "kernels/conv/conv_product_planes"
IN_PAIRS, HALVES = "kernels/conv/conv_product_pairs", r"(\S*Half|\S*BFloat16)"
CHUNKS, ELEMENTS = r"\bmap_chunks_kernel<\S*::", r"\bmap_elements_kernel<\S*::"
PRODUCT, OF = r"\bconv_product_kernel<", r"\S*ConvResult\)"
MMA, WIDE = (TENSOR, MATRICES, COPIES), (WIDE_STORES,)
ROWS, NUMBERS = r"\brow_kernel<\S*::", r"(CrossEntropy|Moments|Plane\w+)"
PASSING = "(Softmax|LogSoftmax|LogSoftmaxBackward|LayerNorm|RmsNorm)"
FLOATS = r"(float|\S*Half|\S*BFloat16)"
NORM, CHANNELS = "ops/nn/channels", r"\bchannel_"
WIDER, PLANES = r"kernel<\S*, \w+, (?!1>)\d>", r"kernel<\S*, true, (?!1>)\d>"

# Two blocks of 256 threads fit a multiprocessor with 128 registers a thread, four with 64.
RULES = (
    # Eight blocks of 256 threads, so that enough is under way for the memory's latency.
    Rule(CHUNKS + r"ScaleShift,", "ops/nn/norm", registers=40, needs=VECTORS),
    Rule(CHUNKS + r"Where,", "ops/elementwise/ternary", registers=40, needs=VECTORS),
    # A copy has both; of a cast the wider side, but lower halves of i64 come by themselves.
    Rule(CHUNKS + r"Identity, ([\w ]+), \1>", "kernels/map/cast", registers=32, needs=VECTORS),
    Rule(
        CHUNKS + r"Identity, (?!(unsigned char|signed char|short|int), long>)",
        "kernels/map/cast",
        registers=32,
        needs=(WIDE_ACCESS,),
    ),
    Rule(r"\btranspose_kernel<", "kernels/map/cast", registers=40, shared=17000, needs=VECTORS),
    Rule(r"\bcopy_list_kernel<", "kernels/map/copy_list", 40, shared=17000, needs=VECTORS),
    Rule(r"\bjoin_kernel\b", "kernels/map/join", registers=32, needs=VECTORS),
    # One thread of a block makes powers of doubles.
    Rule(
        r"\blist_kernel<\S*::(Sgd|Adam|\w+List),",
        "kernels/optimizer/optimizer",
        registers=80,
        shared=80,
        needs=VECTORS,
        doubles=True,
    ),
    # Squares are summed in doubles.
    Rule(
        r"\bnorm_list_kernel<",
        "kernels/optimizer/clip",
        registers=64,
        shared=2304,
        needs=(WIDE_LOADS,),
        doubles=True,
    ),
    Rule(ELEMENTS + r"Identity,", "kernels/map/cast", registers=32),
    Rule(ELEMENTS + r"ScaleShift,", "ops/nn/norm", registers=32),
    Rule(ELEMENTS + r"Where,", "ops/elementwise/ternary", registers=32),
    # A block of 1,024 threads that hold a row has 64 registers each; those that pass one are 512.
    # Cross entropy, moments and sums of planes write no row; the first joins two sums, and what
    # rounding took from them, over a block's warps.
    Rule(rf"{ROWS}(?!{NUMBERS},)\w+, {FLOATS}, [24]>", "ops/nn/rows", 64, 256, needs=VECTORS),
    Rule(rf"{ROWS}{PASSING}, {FLOATS}, 0>", "ops/nn/rows", 64, 384, needs=VECTORS),
    Rule(rf"{ROWS}(Layer|Rms)NormBackward, {FLOATS}, 0>", "ops/nn/rows", 96, 384, needs=VECTORS),
    Rule(rf"{ROWS}CrossEntropy, {FLOATS}, ", "ops/nn/rows", 64, 1040, needs=(WIDE_LOADS,)),
    Rule(ROWS + r"Plane(Norm|Scale|Gradient), ", "ops/nn/planes", 64, needs=VECTORS),
    Rule(ROWS + r"(Moments|PlaneSums), ", "ops/nn/planes", 64, 768, needs=(WIDE_LOADS,)),
    Rule(r"\brow_sums_kernel<", "ops/nn/rows", 64, 8192, needs=(WIDE_LOADS,)),
    Rule(r"\brow_parts_kernel<", "ops/nn/rows", 32, 2048),
    # Batch norm, by wide pieces of planes (true) or of channels side by side; what is held is a
    # block's of 512 threads.
    Rule(rf"{CHANNELS}(moments|slope_sums)_{WIDER}", NORM, 64, 17408, needs=(WIDE_LOADS,)),
    Rule(rf"{CHANNELS}(norm|slopes)_{PLANES}", NORM, registers=64, shared=17408, needs=VECTORS),
    Rule(rf"{CHANNELS}(norm|slopes)_{WIDER}", NORM, registers=96, shared=17408, needs=VECTORS),
    Rule(rf"{CHANNELS}(norm|slopes)_held_{WIDER}", NORM, 96, 17408, needs=VECTORS),
    Rule(rf"{CHANNELS}\w+_kernel<{FLOATS}, \w+, 1>", NORM, registers=64, shared=8704),
    # Two blocks of 256 threads a multiprocessor, which hold a row and its share of the sums.
    Rule(r"\bheld_sums_kernel<", "ops/nn/rows", 128, 8704, needs=VECTORS),
    Rule(r"\bheld_join_kernel<", "ops/nn/rows", 64, needs=(WIDE_LOADS,)),
    # Two blocks of halves a multiprocessor; the gradient by the weight (2) is written by elements,
    # and the last block of a tile is found by a word in shared memory.
    Rule(
        rf"{PRODUCT}{HALVES}, {OF}[01],(?!.*ConvPlanes)",
        CONV,
        registers=128,
        needs=WIDE,
        main=MMA,
    ),
    Rule(rf"{PRODUCT}{HALVES}, {OF}2,(?!.*ConvPlanes)", CONV, 128, 16, main=MMA),
    Rule(
        rf"{PRODUCT}{HALVES}, {OF}[01],.*ConvPlanes",
        IN_PAIRS,
        registers=128,
        needs=(WIDE_STORES, COPIES),
        main=(TENSOR, MATRICES),
    ),
    Rule(rf"{PRODUCT}{HALVES}, {OF}2,.*ConvPlanes", IN_PAIRS, 128, 16, main=(TENSOR, MATRICES)),
    Rule(rf"{PRODUCT}float, (?!.*ConvPlanes)", CONV, 255, 16, main=(FMA, WIDE_SHARED, COPIES)),
    Rule(
        rf"{PRODUCT}float, .*ConvPlanes", IN_PLANES, 255, 16, main=(FMA, WIDE_SHARED, WORD_COPIES)
    ),
    Rule(r"\bconv_parts_kernel<", CONV, registers=40),
    Rule(r"\bconv_parts_kernel<", IN_PLANES, registers=40),
    Rule(r"\bconv_parts_kernel<", IN_PAIRS, registers=40),
    # Vectors of channels: of a run's four outputs 32 sums in registers.
    Rule(
        r"\bconv_direct_kernel<\S+, [48], ",
        DIRECT,
        registers=112,
        needs=WIDE,
        main=(FMA, WIDE_SHARED, WIDE_LOADS),
    ),
    Rule(r"\bconv_direct_kernel<\S+, 1, ", DIRECT, registers=64),
    Rule(r"\bconv_direct_weight_kernel<\S+, [48]>", DIRECT, 80, 1024, main=(FMA, WIDE_LOADS)),
    Rule(r"\bconv_direct_weight_kernel<\S+, 1>", DIRECT, 40, 2048),
    Rule(r"\bconv_direct_parts_kernel<", DIRECT, registers=40),
    # The scale is a double, and blocks find their head by a division: once, before the loops.
    Rule(
        r"\battention_(forward|query_slopes|key_slopes|mask_slopes)_kernel<",
        "kernels/attention/attention",
        registers=255,
        needs=(COPIES,),
        main=(TENSOR, MATRICES),
        divides=True,
        doubles=True,
    ),
    Rule(r"\battention_join_kernel<", "kernels/attention/attention", registers=48, divides=True),
    Rule(r"\bcell_kernel<", "ops/nn/recurrent", registers=56),
    # Sums are kept in doubles. Powers of any exponent take more.
    Rule(r"\bfold_rows_kernel<\S*NormPOf<", FOLD, 88, 512, needs=(WIDE_LOADS,), doubles=True),
    Rule(r"\bfold_rows_kernel<(?!\S*NormPOf<)", FOLD, 48, 512, needs=(WIDE_LOADS,), doubles=True),
    Rule(r"\bfold_columns_kernel<", FOLD, registers=48, shared=4096, doubles=True),
    Rule(r"\bfold_join_kernel<", FOLD, registers=40, shared=512, doubles=True),
    # Averages of whole numbers are divisions.
    Rule(r"\bpool_kernel<(?!\S*AvgPoolElement<long>)", "kernels/pool/pool", registers=80),
    Rule(r"\bresample_kernel<", "kernels/resample/resample", registers=80),
    # Items of a tile in shared memory, beside the counts of a digit where the first few are chosen.
    Rule(r"\bsort_tile_kernel<", "kernels/sort/sort", registers=48, shared=16384),
    Rule(r"\bsort_select_kernel<", "kernels/sort/sort", registers=64, shared=24800),
    Rule(r"\bradix_(keys|write)_kernel<", "kernels/sort/sort", registers=64),
    # Sums are kept in doubles; two blocks of whichever fit with 128 registers.
    Rule(
        r"\bscan_pieces_kernel<\S*Join\w+, (float|double|\S*Half|\S*BFloat16|int|short), \w+>",
        "kernels/scan/scan",
        registers=64,
        shared=64,
        needs=(WIDE_LOADS,),
        doubles=True,
    ),
    Rule(r"\bscan_short_kernel<", "kernels/scan/scan", registers=48, doubles=True),
    # A line's place is a division, once.
    Rule(r"\bscan_columns_kernel<", "kernels/scan/scan", registers=64, divides=True, doubles=True),
    Rule(
        r"\bindex_kernel<\S*(Read|Set)Place, \S*Word16, ",
        "kernels/index/index",
        registers=48,
        needs=VECTORS,
    ),
    Rule(r"\bindex_(kernel|places_kernel|in_order_kernel)<", "kernels/index/index", registers=56),
    # A list of the rows that a block has, and what warps add up of one of them; three blocks.
    Rule(
        r"\badded_rows_kernel<\S+, (?!1>)\d>",
        "kernels/index/added_rows",
        registers=80,
        shared=48000,
        needs=VECTORS,
    ),
    Rule(r"\badded_rows_kernel<", "kernels/index/added_rows", registers=80, shared=48000),
    Rule(r"\btrue_kernel<", "kernels/index/index", registers=48, shared=16),
)


def holds(kernel: Kernel, pattern: str) -> bool:
    return any(re.match(pattern, spelling(i)) for i in kernel.code)


def faults_of(kernel: Kernel, rule: Rule) -> list[str]:
    """What is wrong with a kernel that the rule names."""
    faults = []
    if kernel.stack or holds(kernel, LOCAL):
        faults.append(f"{kernel.stack} bytes of local memory a thread: a spill or an array")
    if kernel.registers > rule.registers:
        faults.append(f"{kernel.registers} registers, at most {rule.registers}")
    if kernel.shared > rule.shared:
        faults.append(f"{kernel.shared} bytes of shared memory, at most {rule.shared}")
    if not rule.doubles and "double" not in kernel.name and holds(kernel, DOUBLES):
        faults.append("arithmetic of doubles")
    if not rule.divides and any(re.match(DIVISION, s) for s in kernel.repeated()):
        faults.append("a 64-bit division in a loop")
    faults += [f"no {pattern}" for pattern in rule.needs if not holds(kernel, pattern)]
    if rule.main:
        loops = kernel.main_loops(rule.main[0])
        if not loops:
            faults.append(f"no loop around {rule.main[0]}")
        for loop in loops:
            lost = [p for p in rule.main if not any(re.match(p, s) for s in loop)]
            faults += [f"no {p} in the main loop" for p in lost]
            extra = [p for p in rule.main_lacks if any(re.match(p, s) for s in loop)]
            faults += [f"{p} in the main loop" for p in extra]
    return faults


def judged(rule: Rule, gpu: str, kernels: list[Kernel]) -> list[str]:
    """Everything that breaks the rule, each with the kernel's name."""
    named = [k for k in kernels if re.search(rule.kernels, k.name)]
    if not named:
        return [f"no kernel for {gpu} is named {rule.kernels}: its line in rules.py needs another"]
    return [f"{k.name} for {gpu}: {fault}" for k in named for fault in faults_of(k, rule)]
