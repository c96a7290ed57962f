"""The compiled inner loops are as quick on both vendors' cores as the kept table says, by
llvm-mca's models: what suits one and not the other is seen without either.
"""

import pathlib
import subprocess

import inner_loop
import inner_loops
import pytest

ROOT = inner_loops.ROOT
BUILD = ROOT / "build" / (ROOT / "build" / "preset").read_text().strip()
KEPT = inner_loops.kept()
SLOWER, QUICKER = 1.03, 0.9  # cycles over those that were kept


def test_every_loop_has_a_kept_line():
    assert list(KEPT) == list(inner_loops.LOOPS)


@pytest.mark.parametrize("processor", inner_loops.PROCESSORS)
@pytest.mark.parametrize("name", KEPT)
def test_a_loop_takes_the_cycles_that_are_kept(name, processor):
    now = inner_loops.cell(inner_loops.LOOPS[name], BUILD, processor)
    kept = KEPT[name][processor]
    assert now.cycles <= kept.cycles * SLOWER, f"{now} cycles now, {kept} kept"
    assert now.cycles >= kept.cycles * QUICKER, (
        f"{now} cycles now, {kept} kept: keep the better one, "
        "python tests/bench/loops/inner_loops.py --write"
    )


def test_a_sum_in_every_broadcast_is_seen(tmp_path):
    """`0 + x` for x broadcast cannot be left out (of -0 it makes +0): it cost half of the products'
    speed on one vendor's cores and nothing on the other's."""
    header = pathlib.Path("kernels/gemm/gemm_vector.h")
    text = (ROOT / "lib" / header).read_text()
    assert "return x - Vector<C>{};" in text
    faulty = tmp_path / header
    faulty.parent.mkdir(parents=True)
    faulty.write_text(text.replace("return x - Vector<C>{};", "return Vector<C>{} + x;"))
    source, compiled = tmp_path / "micro.cc", tmp_path / "micro.o"
    source.write_text(
        '#include "kernels/gemm/gemm_micro.h"\n'
        "namespace flambeau::avx512 {\n"
        "template void micro<float, 14, 2, false>(const MicroArgs<float>&);\n"
        "}\n"
    )
    flags = "-O2 -ftree-vectorize -fvect-cost-model=dynamic -std=c++20 -ffp-contract=off"
    isa = "-mavx512f -mavx512vl -mavx512bw -mavx512dq -mfma -mf16c -mprefer-vector-width=512"
    defined = "-DFLAM_TARGET=avx512 -DFLAM_ISA_RANK=2"
    folders = f"-I{tmp_path} -I{ROOT / 'lib'} -I{ROOT / 'include'}"
    subprocess.run(
        ["g++", *f"{flags} {isa} {defined} {folders} -c {source} -o {compiled}".split()], check=True
    )
    code = inner_loops.found_loop(inner_loops.LOOPS["product, f32"], compiled)
    cycles = inner_loop.predict(code, "skylake-avx512").cycles / inner_loop.multiply_adds(code)
    assert cycles > KEPT["product, f32"]["skylake-avx512"].cycles * SLOWER
