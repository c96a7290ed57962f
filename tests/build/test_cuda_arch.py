"""For which CUDA and which GPUs the library is built: this machine's, a release's, or as asked."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def program(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def chosen(tmp_path, smi: str, codes="75 80 86 89 90 100 120", **env: str) -> str:
    program(tmp_path / "nvidia-smi", smi)
    nvcc = program(tmp_path / "nvcc", f"printf 'sm_%s\\n' {codes}")
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "CUDA_ARCH": "", **env}
    command = [ROOT / "lib/build/cuda_arch.sh", nvcc]
    return subprocess.check_output(command, env=env, text=True).strip()


@pytest.mark.parametrize(
    ("smi", "expected"),
    [
        ("echo 9.0", "90"),
        ("printf '12.0\\n8.6\\n12.0\\n'", "86-real;120"),
        ("echo 10.3", "100"),  # not known by this nvcc, and served by the same major version
        ("echo 8.7", "86"),
        ("echo 7.0", "75-virtual;90-real"),  # too old for this nvcc
        ("printf '7.0\\n9.0\\n'", "90"),
        ("echo 13.0", "75-virtual;90-real"),
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


@pytest.mark.parametrize(
    ("driver", "nvcc", "expected"),
    [
        ("12000", "none", "wheels12"),
        ("12080", "12.9", "system"),
        ("12080", "12.4", "wheels12"),  # too old for the sources
        ("12080", "13.0", "wheels12"),  # too new for the driver
        ("13010", "12.8", "system"),
        ("13010", "11.8", "wheels"),
        ("", "13.0", "system"),  # a driver that does not say
    ],
)
def test_cuda_is_one_that_the_driver_serves(tmp_path, driver, nvcc, expected):
    says = f"int cuDriverGetVersion(int *v) {{ *v = {driver}; return 0; }}" * bool(driver)
    command = ["cc", "-xc", "-", "-shared", "-o", tmp_path / "libcuda.so.1"]
    subprocess.run(command, input=says, text=True, check=True)
    program(tmp_path / "nvidia-smi", "")
    for folder in "bin", "include/cub":
        (tmp_path / folder).mkdir(parents=True)
    program(tmp_path / "bin/nvcc", f"echo 'Cuda compilation tools, release {nvcc}, V{nvcc}.1'")
    (tmp_path / "include/cub/cub.cuh").touch()
    paths = {"PATH": f"{tmp_path}/bin:{tmp_path}:{os.environ['PATH']}", "CUDA_HOME": str(tmp_path)}
    # python3, which the script starts, may need its own
    found = f"{tmp_path}:{os.environ.get('LD_LIBRARY_PATH', '')}".rstrip(":")
    env = {**os.environ, **paths, "LD_LIBRARY_PATH": found}
    command = [ROOT / "lib/build/find_nvcc.sh", "choose"]
    assert subprocess.check_output(command, env=env, text=True).strip() == expected
    (tmp_path / "include/cub/cub.cuh").unlink()
    wheels = "wheels12" if driver.startswith("12") else "wheels"
    without = wheels if expected == "system" else expected
    assert subprocess.check_output(command, env=env, text=True).strip() == without
