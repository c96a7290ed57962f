"""The archives made for users hold the generated files, and build without the generator."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "lib/build"))
import dist  # noqa: E402

if not (ROOT / ".git").exists():
    reason = "an archive without git: it does not know which files are kept"
    pytest.skip(reason, allow_module_level=True)

GENERATED = ("lib/capi/gen/targets.h", "lib/nn/gen/layers.h", "lib/ops/gen/ops.h")
PYTHON = ("bindings/python/gen/_flambeau_fast.c", "bindings/python/flambeau/_gen/ops.py")


TOOLS = f"{pathlib.Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


def run(*command, cwd=ROOT):
    command = [str(c) for c in command]
    env = os.environ | {"PATH": TOOLS}
    result = subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=env)
    assert result.returncode == 0, f"{command}\n{result.stdout}\n{result.stderr}"
    return result.stdout


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """The C archive, unpacked."""
    folder = tmp_path_factory.mktemp("dist")
    packed = dist.write(folder)
    shutil.unpack_archive(packed, folder)
    return folder / packed.name.removesuffix(".tar.gz")


def test_the_c_archive_has_all_that_the_library_is_made_of(archive):
    assert all((archive / name).is_file() for name in GENERATED)
    folders = dist.git("ls-files", "-oi", "--exclude-standard", "--directory", "lib").split()
    assert {f.rstrip("/") for f in folders if f.endswith("gen/")} == set(dist.GENERATED)
    for name in dist.git("ls-files", "include", "lib").splitlines():
        assert (archive / name).is_file() or not (ROOT / name).exists(), name
    assert not (archive / "bindings").exists() and not (archive / "tests").exists()


def test_the_c_archive_is_made_of_another_users_checkout(monkeypatch):
    mine = dist.git("ls-files")
    # a machine's own configuration may trust every folder, as containers' often does
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.delenv("GIT_CONFIG_COUNT", raising=False)
    monkeypatch.delenv("GIT_CONFIG_PARAMETERS", raising=False)
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    refused = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if refused.returncode == 0:
        pytest.skip("this git refuses no checkout of another user")
    assert dist.git("ls-files") == mine


def test_the_c_archive_is_the_same_again(tmp_path):
    first = dist.write(tmp_path / "a").read_bytes()
    assert dist.write(tmp_path / "b").read_bytes() == first


def test_the_c_archive_builds_without_python(archive, tmp_path):
    """Configures, and compiles a file that was generated."""
    caches = [p.read_text() for p in ROOT.glob("build/*/CMakeCache.txt")]
    eigen = re.search(r"^FLAM_EIGEN:PATH=(.*)$", "".join(caches), re.MULTILINE)
    if not eigen:
        pytest.skip("no build of this checkout says where Eigen is: make build")
    run(
        *("cmake", "-S", archive, "-B", tmp_path, "-G", "Ninja", "-DCMAKE_CXX_FLAGS=-O0"),
        "-DFLAM_UNITY=OFF",
        *("-DCMAKE_DISABLE_FIND_PACKAGE_Python=ON", f"-DFLAM_EIGEN={eigen[1]}"),
    )
    made = ("capi/gen/io", "nn/transformer")
    objects = [f"CMakeFiles/flambeau_host.dir/lib/{f}.cc.o" for f in made]
    run("ninja", "-C", tmp_path, *objects)


def test_the_sdist_has_the_generated_files_and_no_generator(tmp_path):
    run(sys.executable, "-m", "build", "--sdist", "-nx", "--outdir", tmp_path, ROOT)
    (packed,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(packed) as f:
        names = {name.partition("/")[2] for name in f.getnames()}
    assert {*GENERATED, *PYTHON, "CMakeLists.txt", "lib/capi/exports.map"} <= names
    unwanted = ("tests/", "bindings/generate", "bindings/rust", "build/", ".venv")
    assert not [n for n in names if n.startswith(unwanted) or n.endswith(".pyc")]


@pytest.mark.skipif(not shutil.which("cargo"), reason="cargo is not there")
@pytest.mark.parametrize("crate", ["flambeau-sys", "flambeau"])
def test_the_crates_have_the_generated_files(crate):
    folder = ROOT / "bindings/rust" / crate
    options = ("--list", "--allow-dirty", "--offline", "--locked")  # which leaves the lock as it is
    listed = run("cargo", "package", *options, cwd=folder).split()
    here = {str(p.relative_to(folder)) for p in (folder / "src").rglob("*.rs")}
    assert here <= set(listed)
    assert any("/gen/" in name for name in here)
