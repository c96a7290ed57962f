"""The wheel of what was built: its name, what it needs of a system, and that it trains a model and
serves a C program where there is no checkout, in every Python found from 3.10 on.
"""

import glob
import os
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SYSTEM = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "ld-linux-x86-64.so.2"}
SYSTEM |= {"librt.so.1"}  # where CUDA is compiled in
TRAIN = """
import sys
import flambeau as torch
x = torch.randn(64, 3)
y = x @ torch.tensor([[1.0], [-2.0], [0.5]])
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(200):
    loss = torch.nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
try:
    torch.ones(2) @ torch.ones(3)
except RuntimeError:  # an exception crossed the library
    pass
assert loss.item() < 1e-3, loss
print(torch.get_include(), torch.get_library(), torch.utils.cmake_prefix_path, sep="\\n")
"""


def run(*command, **options):
    command = [str(c) for c in command]
    result = subprocess.run(command, capture_output=True, text=True, **options)
    assert result.returncode == 0, f"{command}\n{result.stdout}\n{result.stderr}"
    return result.stdout


MINORS = range(10, 15)  # the versions that the wheel is for


def interpreters(named):
    """By minor version, a Python that makes environments, and why those that cannot do not."""
    found, lacking = {}, {}
    for path in filter(os.path.exists, named):
        asked = "import sys; print(sys.version_info[1], flush=True); import venv, ensurepip"
        told = subprocess.run([path, "-c", asked], capture_output=True, text=True)
        if not told.stdout.strip().isdigit():
            continue  # no Python 3, or one that does not start
        if told.returncode == 0:
            found.setdefault(int(told.stdout), path)
        else:
            why = told.stderr.strip().splitlines()[-1]
            lacking.setdefault(int(told.stdout), f"{path} makes no environment: {why}")
    lacking = {minor: why for minor, why in lacking.items() if minor not in found}
    return found, lacking


def cases(found, lacking):
    """One for every minor version that the wheel is for, and newer ones that are here; one that
    cannot be tried says why."""
    for minor in sorted({*MINORS, *(n for n in found if n > MINORS[-1])}):
        why = lacking.get(minor, f"there is no Python 3.{minor} here")
        marks = () if minor in found else pytest.mark.skip(reason=why)
        yield pytest.param(found.get(minor), marks=marks, id=f"3.{minor}")


def each_python():
    named = [f"/usr/bin/python3.{n}" for n in MINORS] + [sys.executable]
    named += glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3"))
    return cases(*interpreters(named))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    if not (ROOT / "build/preset").exists():
        pytest.skip("nothing is built: make build")
    folder = tmp_path_factory.mktemp("dist")
    run(ROOT / "lib/build/wheel.sh", folder)
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def unpacked(wheel, tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    zipfile.ZipFile(wheel).extractall(folder)
    return folder / "flambeau"


@pytest.fixture(scope="module", params=each_python())
def installed(request, wheel, tmp_path_factory):
    """A fresh environment: its own programs and nothing else, no compiler among them."""
    folder = tmp_path_factory.mktemp("venv")
    run(request.param, "-m", "venv", folder)
    run(folder / "bin/python", "-m", "pip", "install", "-q", "--only-binary=:all:", wheel)
    kept = {"HOME": str(folder), "PATH": str(folder / "bin")}
    text = run(folder / "bin/python", "-c", TRAIN, env=kept, cwd=folder)
    return dict(zip(("include", "library", "prefix"), text.split(), strict=True)) | {"at": folder}


def test_a_python_without_ensurepip_is_left_out_with_the_reason(tmp_path):
    """Debian's, where python3-venv is not installed."""
    bare = tmp_path / "bare"
    bare.write_text(
        f'#!/bin/sh\nexec {sys.executable} -c "import sys; sys.modules[\'ensurepip\'] = None\n$2"\n'
    )
    bare.chmod(0o755)
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    minor = sys.version_info[1]
    found, lacking = interpreters([str(bare), str(broken), str(tmp_path / "none")])
    assert not found and list(lacking) == [minor]
    assert str(bare) in lacking[minor] and "ensurepip" in lacking[minor]
    found, lacking = interpreters([str(bare), sys.executable])
    assert found == {minor: sys.executable} and not lacking


def test_a_python_that_is_not_here_is_a_case_with_the_reason():
    told = {case.id: case for case in cases({9: "old", 12: "here", 15: "new"}, {11: "no venv"})}
    assert list(told) == [f"3.{n}" for n in (*MINORS, 15)]
    tried = [case.values[0] for case in told.values() if not case.marks]
    reasons = {name: case.marks[0].kwargs["reason"] for name, case in told.items() if case.marks}
    assert tried == ["here", "new"] and reasons["3.11"] == "no venv"
    assert reasons["3.14"] == "there is no Python 3.14 here" and len(reasons) + 2 == len(told)


def test_its_name_says_where_it_runs(wheel):
    assert wheel.name.endswith("-cp310-abi3-manylinux_2_28_x86_64.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert not [n for n in names if n.endswith((".pyc", ".cc")) or n.startswith("tests")]
    (metadata,) = [n for n in names if n.endswith("METADATA")]
    assert "Requires-Python: >=3.10" in zipfile.ZipFile(wheel).read(metadata).decode()


@pytest.mark.parametrize("name", ["lib/libflambeau.so.0", "_flambeau.abi3.so"])
def test_it_needs_no_newer_system(unpacked, name):
    facts = run("objdump", "-Tp", unpacked / name)
    versions = {tuple(map(int, v.split("."))) for v in re.findall(r"GLIBC_([\d.]+)", facts)}
    assert versions and max(versions) <= (2, 28)
    assert set(re.findall(r"NEEDED +(\S+)", facts)) <= SYSTEM | {"libflambeau.so.0"}
    assert not re.findall(r"R(?:UN)?PATH +\S+", facts)


def images(architectures):
    """How many forms of each kernel CMake's list asks for: code, PTX, or both where it says
    none."""
    return sum(1 if "-" in one else 2 for one in architectures.split(";") if one)


def test_a_release_for_all_gpus_stays_small(unpacked):
    """Judged by what the compiled GPUs' code takes; a build without CUDA has none."""
    library = unpacked / "lib/libflambeau.so.0"
    sections = run("objdump", "-hw", library)
    code = sum(int(n, 16) for n in re.findall(r" \.nv_fatbin +([0-9a-f]+)", sections))
    cache = ROOT / "build" / (ROOT / "build/preset").read_text().strip() / "CMakeCache.txt"
    (compiled,) = re.findall(r"CMAKE_CUDA_ARCHITECTURES:\w+=(.*)", cache.read_text()) or [""]
    script = (ROOT / "lib/build/cuda_arch.sh").read_text()
    (release,) = re.findall(r'^release="(.*)"', script, re.MULTILINE)
    grown = images(release) / max(1, images(compiled))
    assert images(release) == 8 and bool(code) == bool(compiled)
    assert library.stat().st_size + code * (grown - 1) < 120e6


def test_it_trains_in_a_fresh_environment(installed):
    for place in ("include", "library", "prefix"):
        assert pathlib.Path(installed[place]).is_relative_to(installed["at"])
    assert (pathlib.Path(installed["include"]) / "flambeau/flambeau.h").is_file()


def test_its_launcher_is_a_command(installed, tmp_path):
    (tmp_path / "rank.py").write_text("import os, flambeau; print(os.environ['RANK'])")
    kept = {"HOME": str(tmp_path), "PATH": str(installed["at"] / "bin")}
    command = installed["at"] / "bin/flambeau-run"
    said = run(command, "--nproc-per-node", 2, tmp_path / "rank.py", env=kept, cwd=tmp_path)
    assert sorted(said.split()) == ["0", "1"]


def test_a_c_program_builds_with_it(unpacked, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.24)\nproject(hello C)\n"
        "find_package(flambeau 0.2 REQUIRED)\nadd_executable(hello hello.c)\n"
        "target_link_libraries(hello flambeau::flambeau)\n"
    )
    (tmp_path / "hello.c").write_text(
        "#include <flambeau/flambeau.h>\n#include <stdio.h>\n"
        'int main(void) { return printf("%u\\n", (unsigned)flam_version()) < 0; }\n'
    )
    cmake = pathlib.Path(sys.executable).with_name("cmake")
    build = tmp_path / "build"
    run(cmake, "-S", tmp_path, "-B", build, f"-DCMAKE_PREFIX_PATH={unpacked}")
    run(cmake, "--build", build)
    version = run(build / "hello")
    assert int(version) > 0
    if not shutil.which("pkg-config"):
        return
    env = os.environ | {"PKG_CONFIG_PATH": str(unpacked / "lib/pkgconfig")}
    flags = run("pkg-config", "--cflags", "--libs", "flambeau", env=env).split()
    run("cc", tmp_path / "hello.c", "-o", tmp_path / "hello", *flags)
    env = os.environ | {"LD_LIBRARY_PATH": str(unpacked / "lib")}
    assert run(tmp_path / "hello", env=env) == version
