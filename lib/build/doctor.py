"""What the machine has to have, in one list: `make doctor` shows all of it, a build and the tests
ask for their part before they begin, so that everything missing is named at once. Runs on any
Python 3, before anything was set up.

    doctor.py              a tick or a cross for every tool, and the line that installs the rest
    doctor.py build        nothing, or what the build lacks and status 1
    doctor.py test         installs what the build and the tests lack where apt may do so without
                           asking
"""

import glob
import os
import shutil
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


def tool(path, option="--version"):
    return lambda: version(path, option)


def can_make_environments():
    return not subprocess.call(
        [python(), "-c", "import ensurepip, venv"], stderr=subprocess.DEVNULL
    )


def python():
    return "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable


def header(path):
    folders = ["/usr/include", "/usr/local/include"]
    folders += [f for f in os.environ.get("CPLUS_INCLUDE_PATH", "").split(":") if f]
    return lambda: any(os.path.exists(os.path.join(folder, path)) for folder in folders)


def has_python_headers():
    code = "import os, sysconfig; print(os.path.join(sysconfig.get_path('include'), 'Python.h'))"
    return os.path.exists(version(python(), "-c", code))


def crates():
    """What cargo is for; names one that is there and is not asked."""
    other = shutil.which("cargo")
    return "the Rust crates" + (f" (Debian's, and not {other}: the oldest that does)" * bool(other))


BUILD, TEST, OPTIONAL = "build", "test", "optional"
WHERE_FOUND = "where found"  # the tests have it installed where the system's packages know it

# name, found?, what for, apt package, who cannot do without it
TOOLS = [
    ("g++", tool("g++"), "the library", "build-essential", BUILD),
    ("make", tool("make"), "this", "build-essential", BUILD),
    ("python3", tool(python()), "tools and bindings", "python3", BUILD),
    ("python3 venv", can_make_environments, "the tools' environment", "python3-venv", BUILD),
    ("Python.h", has_python_headers, "the Python extension", "python3-dev", BUILD),
    ("nlohmann/json", header("nlohmann/json.hpp"), "safetensors", "nlohmann-json3-dev", BUILD),
    ("git", tool("git"), "lint's list of files", "git", TEST),
    # Debian's cargo is the oldest that the crates promise to build with, and tested beside others.
    ("cargo", tool("/usr/bin/cargo"), crates(), "cargo", TEST),
    ("GoogleTest", header("gtest/gtest.h"), "the C++ tests", "libgtest-dev", TEST),
    ("Gloo", header("gloo/context.h"), "groups of several processes", "libgloo-dev", TEST),
    ("ccache", tool("ccache"), "quick rebuilds", "ccache", OPTIONAL),
    ("llvm-mca", tool("llvm-mca-19"), "loops on other processors", "llvm-19", WHERE_FOUND),
    ("abidiff", tool("abidiff"), "the ABI check", "abigail-tools", TEST),
    (".venv", tool(".venv/bin/python"), "cmake and the rest, pinned (make setup)", "", OPTIONAL),
    ("NVIDIA driver", tool("nvidia-smi", "-L"), "CUDA; without one it is simulated", "", OPTIONAL),
    ("nvcc", tool("nvcc"), "CUDA=system; wheels and wheels12 fetch one", "", OPTIONAL),
    ("CUDA=auto", tool("lib/build/find_nvcc.sh", "choose"), "a build with CUDA", "", OPTIONAL),
]


def missing(*stages):
    """(name, package) of what is not there."""
    return [
        (name, package) for name, find, _, package, stage in TOOLS if stage in stages and not find()
    ]


def root_prefix():
    """How this user runs apt: as root by itself, with or without the program sudo."""
    return [] if os.geteuid() == 0 else ["sudo"]


def apt_line(packages):
    apt = " ".join([*root_prefix(), "apt-get"])
    return f"{apt} update && {apt} install -y {' '.join(dict.fromkeys(packages))}"


def show():
    absent = []
    for name, find, purpose, package, stage in TOOLS:
        found = find()
        if not found:
            absent.append((package, stage))
        mark = "✓" if found else ("–" if stage != BUILD else "✗")
        said = found if isinstance(found, str) and found else "for " + purpose
        print(f" {mark} {name:14} {said}")
    for library in sorted(glob.glob("build/*/libflambeau.so.0")):
        print(f" ✓ {library}  {os.path.getsize(library) / 1e6:.1f} MB")
    packages = [package for package, stage in absent if package and stage != WHERE_FOUND]
    if packages:
        print("\n" + apt_line(packages))
    return any(stage == BUILD for _, stage in absent)


def require_build():
    absent = missing(BUILD)
    if absent:
        names = ", ".join(name for name, _ in absent)
        line = apt_line([package for _, package in absent])
        print(f"flambeau cannot be built without {names}:\n  {line}", file=sys.stderr)
    return bool(absent)


def provide_test():
    packages = list(dict.fromkeys(package for _, package in missing(BUILD, TEST)))
    extra = [package for _, package in missing(WHERE_FOUND)]
    run = root_prefix()
    run += ["-n"] if run else []
    if not packages + extra or not shutil.which("apt-get"):
        return False
    if run and (
        not shutil.which("sudo") or subprocess.call([*run, "true"], stderr=subprocess.DEVNULL)
    ):
        return False
    print("installing", *packages, *extra, flush=True)
    quiet = {"stdout": subprocess.DEVNULL}
    if not subprocess.call([*run, "apt-get", "update", "-qq"], **quiet):
        for together in filter(None, [packages, extra]):
            subprocess.call([*run, "apt-get", "install", "-y", "-qq", *together], **quiet)
    return False  # the build and each suite say themselves what they still lack


if __name__ == "__main__":
    stage = sys.argv[1] if len(sys.argv) > 1 else "all"
    sys.exit({"all": show, BUILD: require_build, TEST: provide_test}[stage]())
