"""What is declared of NCCL, beside NVIDIA's header where one is: that of the wheel, or of
NCCL_HOME."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CUDA = """
#pragma once
typedef struct CUstream_st* cudaStream_t;
typedef struct CUevent_st* cudaEvent_t;
"""


def folders():
    home = os.environ.get("NCCL_HOME")
    named = [Path(home, "include")] if home else []
    return named + [Path(p, "nvidia", "nccl", "include") for p in sys.path if p]


def test_declarations_are_those_of_the_header(tmp_path):
    found = next((f for f in folders() if (f / "nccl.h").exists()), None)
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    if not found or not compiler:
        pytest.skip("no nccl.h: NCCL_HOME, or pip install --no-deps nvidia-nccl-cu13")
    (tmp_path / "cuda_runtime.h").write_text(CUDA)  # all that it takes of CUDA
    (tmp_path / "cuda_fp16.h").touch()
    command = [compiler, "-std=c++20", "-fsyntax-only", f"-I{ROOT / 'lib'}", f"-I{tmp_path}"]
    source = ROOT / "tests" / "headers" / "nccl.cc"
    done = subprocess.run(
        [*command, f"-I{found}", str(source)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
