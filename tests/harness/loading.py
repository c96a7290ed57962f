"""What a library needs to be loaded, and what it says where there is no driver and no toolkit."""

import re
import subprocess
import sys

import pytest

DRIVER = "import ctypes; ctypes.CDLL('libcuda.so.1')"
ASK = """
import ctypes, os, sys
library = ctypes.CDLL(sys.argv[1], os.RTLD_NOW)
library.flam_cuda_unavailable_reason.restype = ctypes.c_char_p
print(library.flam_cuda_unavailable_reason().decode())
mapped = {line.split(None, 5)[-1].strip() for line in open("/proc/self/maps")}
print(*(path for path in mapped if "/libcu" in path or "nvidia" in path))
"""


def needed(library) -> set[str]:
    """The libraries that it is linked to, without their versions."""
    said = subprocess.check_output(["readelf", "-d", library], text=True)
    return {name.split(".so")[0] for name in re.findall(r"NEEDED.*\[(.*)\]", said)}


def why_no_cuda(library) -> str:
    """The reason, told by a program that has nothing of NVIDIA's in its process then either."""

    def run(program, *arguments):
        command = [sys.executable, "-I", "-S", "-c", program, *arguments]
        return subprocess.run(command, env={}, text=True, capture_output=True)

    if run(DRIVER).returncode == 0:
        pytest.skip("this machine has NVIDIA's driver")
    done = run(ASK, str(library))
    assert done.returncode == 0, done.stderr
    reason, nvidia = done.stdout.splitlines()
    assert nvidia == ""
    return reason
