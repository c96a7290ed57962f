"""The Rust crates as a program beside the clone meets them: by the lines of the READMEs, and in a
clone that nobody has built.
"""

import re
import shutil

import pytest
from programs import ROOT, library, run

CRATES = ROOT / "bindings" / "rust"
PRINTED = {
    "README.md": r"loss 0\.0[0-4]",
    "bindings/rust/flambeau/README.md": r"tensor\(\[\[ 1\.0",
    "bindings/rust/flambeau-sys/README.md": r"flambeau \d+\.\d+\n",
}


@pytest.fixture(autouse=True)
def cargo():
    if not shutil.which("cargo"):
        pytest.fail("cargo is not there: sudo apt-get install -y cargo")


@pytest.mark.parametrize(("readme", "printed"), PRINTED.items())
def test_the_lines_of_a_readme_run_its_program(tmp_path, readme, printed):
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", (ROOT / readme).read_text(), re.M | re.S)
    (program,) = [code for language, code in blocks if language == "rust"]
    (lines,) = [code for language, code in blocks if language == "sh" and "cargo add" in code]
    run(["cargo", "init", "--vcs", "none", "--name", "beside", tmp_path])
    (tmp_path / "src" / "main.rs").write_text(program)
    built = lines.replace("../flambeau/build/libflambeau.so.0", library())
    script = f"cd {tmp_path}\n" + built.replace("../flambeau", str(ROOT))
    target = str(ROOT / "build" / "rust")
    output = run(["sh", "-ec", script], CARGO_NET_OFFLINE="true", CARGO_TARGET_DIR=target)
    assert re.match(printed, output), output


def test_a_clone_that_was_not_built_says_so(tmp_path):
    clone = tmp_path / "flambeau-sys"
    shutil.copytree(CRATES / "flambeau-sys", clone, ignore=shutil.ignore_patterns("gen"))
    manifest, target = clone / "Cargo.toml", tmp_path / "target"
    command = ["cargo", "check", "--offline", "--manifest-path", manifest, "--target-dir", target]
    assert "run `make build` in flambeau's clone" in run(command, fails=True)
