"""For which GPUs CUDA's kernels are compiled: those of this machine, a release's, or as asked."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def chosen(tmp_path, smi: str, **env: str) -> str:
    program = tmp_path / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{smi}\n")
    program.chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "CUDA_ARCH": "", **env}
    return subprocess.check_output([ROOT / "lib/build/cuda_arch.sh"], env=env, text=True).strip()


@pytest.mark.parametrize(
    ("smi", "expected"),
    [
        ("echo 9.0", "90-real"),
        ("printf '12.0\\n8.6\\n12.0\\n'", "120-real;86-real"),
        ("echo 'No devices were found'", "75-virtual;90-real"),
        ("echo 'NVIDIA-SMI has failed' >&2; exit 9", "75-virtual;90-real"),
    ],
)
def test_the_gpus_of_this_machine(tmp_path, smi, expected):
    assert chosen(tmp_path, smi) == expected


def test_what_is_asked_for_counts(tmp_path):
    assert chosen(tmp_path, "echo 9.0", CUDA_ARCH="80-real;90") == "80-real;90"


def test_a_release_has_code_for_turing_to_blackwell_and_ptx_for_later_ones(tmp_path):
    *real, last = chosen(tmp_path, "echo 9.0", CUDA_ARCH="release").split(";")
    assert {f"{n}-real" for n in (75, 80, 86, 89, 90, 100)} <= set(real)
    assert last == "120"  # both its code and PTX


def test_a_wheel_is_a_release():
    said = subprocess.check_output(["make", "-n", "wheel"], cwd=ROOT, text=True)
    assert "CUDA_ARCH=${CUDA_ARCH:-release}" in said
