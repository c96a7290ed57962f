"""The CUDA side for drivers of CUDA 12, compiled as by `make CUDA=wheels12`. What a driver judges
by is read from the objects: of which version their code, PTX and runtime are. With the host's
objects of the last build, to which the version is nothing, they are a whole library.
"""

import os
import re
import shlex
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.loading import needed, why_no_cuda

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/cuda12"


def run(*command) -> str:
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(command, text=True, capture_output=True, cwd=ROOT, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def images(data: bytes):
    """What every image in NVIDIA's containers is, its version, and whether it is packed by zstd."""
    kinds = {1: "PTX", 2: "code"}
    for start in re.finditer(re.escape(bytes.fromhex("50ed55ba01001000")), data):
        at = start.end() + 8
        end = at + struct.unpack_from("<Q", data, start.end())[0]
        while at < end:
            kind, header, size, minor, major, flags = struct.unpack_from("<HxxIQ8xHH12xQ", data, at)
            yield kinds[kind], f"{major}.{minor}", bool(flags & 0x8000)
            at += header + size


@pytest.fixture(scope="module")
def nvcc():
    return Path(run("lib/build/find_nvcc.sh", "wheels12").strip())


@pytest.fixture(scope="module")
def runtime(nvcc):
    return nvcc.parents[1] / "lib/libcudart_static.a"


@pytest.fixture(scope="module")
def objects(nvcc):
    # The oldest GPU: what it lacks, newer ones do not show.
    options = [f"-DCMAKE_CUDA_COMPILER={nvcc}", "-DCMAKE_CUDA_ARCHITECTURES=75", "--fresh"]
    options += [f"-DFLAM_{part}=OFF" for part in ("TESTS", "PYTHON", "PUBLISH")]
    if strict := os.environ.get("FLAM_WERROR"):
        options.append(f"-DFLAM_WERROR={strict}")
    run("cmake", "--preset", "cuda", "-B", BUILD, f"-DPython_EXECUTABLE={sys.executable}", *options)
    parts = ["flambeau_cuda_provider", "flambeau_kernels_cuda"]
    run("cmake", "--build", BUILD, "--parallel", "1", "--target", *parts)
    return list((BUILD / "lib/build/cuda").rglob("*.o"))


def test_a_driver_of_cuda_12_takes_all_of_it(objects, runtime):
    found = [image for file in objects for image in images(file.read_bytes())]
    # Drivers from before CUDA 12.4 cannot unpack zstd; code of 13.0's own assembler is 1.8.
    assert set(found) == {("PTX", "8.8", False), ("code", "1.7", False)} and len(found) > 40
    calls = set(re.findall(r"U (_*cuda\w+)", run("nm", *objects)))
    assert "cudaMalloc" in calls
    assert calls <= set(re.findall(r" T (\w+)", run("nm", "--defined-only", runtime)))


def test_the_whole_library_loads_without_driver_and_toolkit(objects, runtime):
    """Linked as the last build's was, with other objects and another runtime for CUDA."""
    built = ROOT / "build" / (ROOT / "build/preset").read_text().strip()
    commands = run("ninja", "-C", built, "-t", "commands", "-s", "libflambeau.so.0").split(" && ")
    link = shlex.split(next(c for c in commands if " -o libflambeau.so.0 " in c))
    own = [w for w in link if not re.search(r"^lib/build/cuda/|libcudart_static", w)]
    library = BUILD / "libflambeau.so.0"
    own[own.index("-o") + 1] = str(library)
    done = subprocess.run([*own, *objects, runtime, "-lrt"], cwd=built, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    assert needed(library) == needed(built / library.name)
    assert "there is no NVIDIA driver: libcuda.so.1" in why_no_cuda(library)
