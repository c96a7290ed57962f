"""Each rule fires when its property is lost: kernels that keep it pass, and the same kernels
without it are named with what they lack.
"""

import re
import shutil
from pathlib import Path

import pytest
from compiled_kernels import nvcc_of
from machine_code import compiled, kernels_of
from rules import (
    COPIES,
    GPUS,
    MATRICES,
    RULES,
    TENSOR,
    WIDE_LOADS,
    WIDE_STORES,
    Rule,
    faults_of,
    judged,
)

LOST = Path(__file__).parent / "lost.cu"
VECTORS = {"needs": (WIDE_LOADS, WIDE_STORES)}
PRODUCT = {"main": (TENSOR, MATRICES, COPIES), "shared": 4096}

# A kernel that keeps the rule, one that does not, what the rule asks for, and what it says then.
CASES = {
    "vector access": ("copy", "vectors", VECTORS, r"no LDG.*no STG"),
    "no local array": ("scaled", "registers_of_an_array", {"shared": 256}, r"\d+ bytes of local"),
    "no spills": ("scaled", "registers_by_spills", {"shared": 256}, r"\d+ bytes of local memory"),
    "shared memory": ("scaled", "occupancy", {"shared": 256}, "260 bytes of shared .* at most 256"),
    "no doubles": ("scaled", "singles", {"shared": 256}, "arithmetic of doubles"),
    "no 64-bit division": ("rows", "words", {}, "a 64-bit division in a loop"),
    "matrices by ldmatrix": (
        "product",
        "matrices",
        PRODUCT,
        "no LDSM.* main loop; no LDGSTS.* main loop",
    ),
    "tensor units": ("product", "tensor_units", PRODUCT, "no loop around H"),
}


@pytest.fixture(scope="module", params=GPUS)
def kernels(request, build, tmp_path_factory):
    cubin = tmp_path_factory.mktemp("lost") / "lost.cubin"
    compiled(nvcc_of(build), LOST, request.param, cubin)
    found = list(kernels_of(cubin, re.compile("")))
    assert {k.gpu for k in found} == {request.param}
    return {re.search(r"::(\w+)\(", k.name)[1]: k for k in found}


@pytest.mark.parametrize("name", CASES)
def test_a_rule_fires_when_its_property_is_lost(kernels, name):
    kept, lost, asked, said = CASES[name]
    rule = Rule("", "", registers=64, **asked)
    assert faults_of(kernels[kept], rule) == []
    assert re.search(said, "; ".join(faults_of(kernels[lost], rule)))


def changed(build, tmp_path, rules, *changes):
    """The rules' kernels for the first GPU, compiled from sources with (file, text, other text)."""
    library = Path(__file__).resolve().parents[2] / "lib"
    shutil.copytree(library, tmp_path / "lib")
    for name, text, other in changes:
        file = tmp_path / "lib" / name
        whole = file.read_text()
        assert whole.count(text) == 1, name
        file.write_text(whole.replace(text, other))
    source = tmp_path / "lib" / f"{rules[0].source}.kernel.cc"
    cubin = compiled(nvcc_of(build), source, GPUS[0], tmp_path / "a.cubin", tmp_path / "lib")
    return list(kernels_of(cubin, re.compile("|".join(rule.kernels for rule in rules))))


def test_chunks_of_elementwise_kernels_are_16_bytes(build, tmp_path):
    """The library's own kernels, with chunks of half as much, fail."""
    rules = [r for r in RULES if r.source == "ops/nn/norm" and r.needs]
    narrow = ("kernels/map/map_device.h", "kChunkOf = 16 /", "kChunkOf = 8 /")
    kernels = changed(build, tmp_path, rules, narrow)
    (rule,) = rules
    assert len(kernels) == len(judged(rule, GPUS[0], kernels)) / len(rule.needs) == 4


def test_pieces_of_channels_are_16_bytes(build, tmp_path):
    """Those of batch norm."""
    rules = [r for r in RULES if r.source == "ops/nn/channels" and r.needs]
    kernels = changed(
        build,
        tmp_path,
        rules,
        ("kernels/row/row_piece.h", "kPieceOf = 16 /", "kPieceOf = 8 /"),
        (
            "ops/nn/channels.kernel.cc",
            "register_channels(FloatTypes{})",
            "register_channels(TypeList<float>{})",
        ),
    )
    for rule in rules:
        named = [k for k in kernels if re.search(rule.kernels, k.name)]
        assert len(named) == len(judged(rule, GPUS[0], kernels)) / len(rule.needs) > 0


def test_registers_are_limited(kernels):
    kernel = kernels["product"]
    rule = Rule("", "", registers=kernel.registers - 1, **PRODUCT)
    (fault,) = faults_of(kernel, rule)
    assert fault == f"{kernel.registers} registers, at most {kernel.registers - 1}"


def test_a_kernel_that_is_missing_is_a_fault(kernels):
    (fault,) = judged(Rule("gone_kernel", "", 64), "sm_80", list(kernels.values()))
    assert "no kernel for sm_80 is named gone_kernel" in fault


def test_rules_name_sources():
    lib = Path(__file__).resolve().parents[2] / "lib"
    assert [r.source for r in RULES if not (lib / f"{r.source}.kernel.cc").exists()] == []
