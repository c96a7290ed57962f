"""`make doctor`: a tick or a cross for every tool, what it is for, and the one line that installs
what is missing. Runs on any Python 3, before anything was set up.
"""

import glob
import os
import subprocess
import sys


def version(*command):
    try:
        text = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=20
        ).stdout
    except OSError:
        return ""
    return text.decode(errors="replace").strip().splitlines()[0] if text.strip() else ""


def can_make_environments():
    return not subprocess.call(
        [python(), "-c", "import ensurepip, venv"], stderr=subprocess.DEVNULL
    )


def python():
    return "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable


def has_python_headers():
    code = "import os, sysconfig; print(os.path.join(sysconfig.get_path('include'), 'Python.h'))"
    return os.path.exists(version(python(), "-c", code))


# name, found?, what for, apt package, whether the library can be built without it
TOOLS = [
    ("g++", lambda: version("g++", "--version"), "the library", "build-essential", False),
    ("make", lambda: version("make", "--version"), "this", "build-essential", False),
    ("python3", lambda: version(python(), "--version"), "tools and bindings", "python3", False),
    ("python3 venv", can_make_environments, "the tools' environment", "python3-venv", False),
    ("Python.h", has_python_headers, "the Python extension", "python3-dev", False),
    (
        "nlohmann/json",
        lambda: os.path.exists("/usr/include/nlohmann/json.hpp"),
        "the library reads safetensors with it",
        "nlohmann-json3-dev",
        False,
    ),
    ("cargo", lambda: version("cargo", "--version"), "the Rust crates", "cargo", False),
    (
        "GoogleTest",
        lambda: os.path.exists("/usr/include/gtest/gtest.h"),
        "the C++ tests",
        "libgtest-dev",
        True,
    ),
    ("ccache", lambda: version("ccache", "--version"), "quick rebuilds", "ccache", True),
    ("abidiff", lambda: version("abidiff", "--version"), "the ABI check", "abigail-tools", True),
    (
        ".venv",
        lambda: version(".venv/bin/python", "--version"),
        "cmake and the rest, pinned (make setup)",
        "",
        True,
    ),
    (
        "NVIDIA driver",
        lambda: version("nvidia-smi", "-L"),
        "CUDA devices; without one they are simulated",
        "",
        True,
    ),
    (
        "nvcc",
        lambda: version("nvcc", "--version"),
        "CUDA=system; CUDA=wheels fetches one",
        "",
        True,
    ),
]


def main():
    packages, broken = [], False
    for name, find, purpose, package, optional in TOOLS:
        found = find()
        if not found and package:
            packages.append(package)
        broken = broken or not (found or optional)
        mark = "✓" if found else ("–" if optional else "✗")
        print(
            " {} {:14} {}".format(
                mark, name, found if isinstance(found, str) and found else "for " + purpose
            )
        )
    for library in sorted(glob.glob("build/*/libflambeau.so.0")):
        print(f" ✓ {library}  {os.path.getsize(library) / 1e6:.1f} MB")
    if packages:
        print(
            "\nsudo apt-get update && sudo apt-get install -y " + " ".join(dict.fromkeys(packages))
        )
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
