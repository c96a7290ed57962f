"""A program of another workspace builds and runs on what the packed crates hold, offline: the
packed flambeau-sys stands for the registry's.
"""

import os
import pathlib
import re
import shutil
import subprocess
import tarfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUST = ROOT / "bindings/rust"
CRATES = ("flambeau-sys", "flambeau")
MANIFEST = """
[package]
name = "newcomer"
version = "0.1.0"
edition = "2021"

[dependencies]
flambeau = "{version}"

[patch.crates-io]
flambeau = {{ path = "../flambeau-{version}" }}
flambeau-sys = {{ path = "../flambeau-sys-{version}" }}
"""

pytestmark = pytest.mark.skipif(not shutil.which("cargo"), reason="cargo is not there")


def cargo(*arguments, cwd, **more):
    env = {**os.environ, **more}
    command = ["cargo", *map(str, arguments), "--offline"]
    result = subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=env)
    assert result.returncode == 0, f"{command}\n{result.stdout}\n{result.stderr}"
    return result.stdout


def version():
    return re.search(r'^version = "(.*)"', (RUST / "flambeau/Cargo.toml").read_text(), re.M)[1]


def copy_of_the_workspace(folder):
    """With what its members and links lead to: cargo may write its lock, and this checkout stays as
    it is.
    """
    unneeded = shutil.ignore_patterns("target", "tests")
    for part in ("bindings/rust", "examples/rust"):
        shutil.copytree(ROOT / part, folder / part, symlinks=True, ignore=unneeded)
    shutil.copy(ROOT / "LICENSE", folder)
    return folder / "bindings/rust"


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """Both crates packed, and unpacked side by side; what builds on them verifies them."""
    folder = tmp_path_factory.mktemp("crates")
    before = (RUST / "Cargo.lock").read_bytes()
    workspace = copy_of_the_workspace(folder / "copy")
    for crate in CRATES:
        local = f'patch.crates-io.flambeau-sys.path="{workspace / "flambeau-sys"}"'
        # The patch stands for the registry, which makes another lock of the copy's.
        more = ("--config", local) if crate == "flambeau" else ("--locked",)
        target = ("--target-dir", folder / "target")
        options = ("--allow-dirty", "--no-verify", *target, *more)
        cargo("package", "-p", crate, *options, cwd=workspace)
        with tarfile.open(folder / f"target/package/{crate}-{version()}.crate") as packed:
            packed.extraction_filter = getattr(tarfile, "data_filter", None)
            packed.extractall(folder)
    assert (RUST / "Cargo.lock").read_bytes() == before
    return folder


@pytest.mark.parametrize("crate", CRATES)
def test_a_crate_says_what_it_is(unpacked, crate):
    folder = unpacked / f"{crate}-{version()}"
    assert (folder / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    assert (folder / "README.md").read_text().startswith(f"# {crate}\n")
    manifest = (folder / "Cargo.toml").read_text()
    for key in ("description", "license", "readme", "keywords", "categories", "rust-version"):
        assert re.search(rf"^{key} = ", manifest, re.MULTILINE), key
    assert list((folder / "src/gen").glob("*.rs"))


def test_a_program_elsewhere_runs_on_the_packed_crates(unpacked):
    readme = (RUST / "flambeau/README.md").read_text()
    program = unpacked / "newcomer"
    (program / "src").mkdir(parents=True)
    (program / "Cargo.toml").write_text(MANIFEST.format(version=version()))
    (program / "src/main.rs").write_text(re.search(r"```rust\n(.*?)```", readme, re.DOTALL)[1])
    library = os.environ.get("FLAMBEAU_LIBRARY", str(ROOT / "build/libflambeau.so.0"))
    if not os.path.exists(library):
        pytest.skip("no library is built: make build")
    target = str(unpacked / "target")
    env = {"FLAMBEAU_LIBRARY": library, "CARGO_TARGET_DIR": target, "CARGO_PROFILE_DEV_DEBUG": "0"}
    shown = cargo("run", "-q", cwd=program, **env)
    weights = [float(x) for x in re.findall(r"-?\d+\.\d+", shown)]
    assert weights == pytest.approx([1.0, -2.0, 0.5], abs=1e-2)


LINKED = """
[package]
name = "linked"
version = "0.1.0"
edition = "2021"

[dependencies.flambeau-sys]
path = "../flambeau-sys-{version}"
default-features = false
features = ["link"]
"""


@pytest.mark.parametrize("named", ["nothing", "another folder"])
def test_the_linker_may_find_the_library_by_itself(unpacked, named):
    """Where nothing says where it is, checking passes with a warning, and `-L` is enough to
    link."""
    program = unpacked / "linked"
    (program / "src").mkdir(parents=True, exist_ok=True)
    (program / "Cargo.toml").write_text(LINKED.format(version=version()))
    readme = (RUST / "flambeau-sys/README.md").read_text()
    (program / "src/main.rs").write_text(re.search(r"```rust\n(.*?)```", readme, re.DOTALL)[1])
    tools = unpacked / "tools"
    tools.mkdir(exist_ok=True)
    (tools / "pkg-config").write_text("#!/bin/sh\nexit 1\n")
    (tools / "pkg-config").chmod(0o755)
    env = {"PATH": f"{tools}:{os.environ['PATH']}", "CARGO_TARGET_DIR": str(unpacked / named)}
    if named == "another folder":
        env["FLAMBEAU_LIB_DIR"] = str(tools)
    cargo("check", cwd=program, **env)
    told = next((unpacked / named).glob("debug/build/flambeau-sys-*/output")).read_text()
    assert re.search("cargo:warning=.*libflambeau.so", told)
    library = ROOT / "build/libflambeau.so"
    if not library.exists():
        pytest.skip("no library is built: make build")
    flags = {"RUSTFLAGS": f"-L native={library.parent}", "LD_LIBRARY_PATH": str(library.parent)}
    assert re.fullmatch(r"flambeau \d+\.\d+\n", cargo("run", "-q", cwd=program, **env, **flags))
