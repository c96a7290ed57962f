"""The README holds what it says: every program in it runs, a text block after a program is what
that program prints, its commands exist, and its apt line has all that the build asks for.
"""

import re
import shutil
import sys

import pytest
from programs import ROOT, compile_c, run

TEXT = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
PYTHON = [
    (code, following[1] if following[0] == "text" else None)
    for (language, code), following in zip(BLOCKS, [*BLOCKS[1:], ("", "")], strict=True)
    if language == "python"
]


def block(language: str) -> str:
    (code,) = [code for found, code in BLOCKS if found == language]
    return code


def learned(output: str) -> bool:
    return 0 <= float(re.search(r"loss ([0-9.]+)", output).group(1)) < 0.05


@pytest.mark.parametrize(("code", "expected"), PYTHON)
def test_python_blocks(tmp_path, code, expected):
    program = tmp_path / "program.py"
    program.write_text(code)
    output = run([sys.executable, program])
    assert output == expected if expected else learned(output)


def test_the_c_block(tmp_path):
    source = tmp_path / "program.c"
    source.write_text(block("c"))
    assert learned(run([compile_c(source, tmp_path / "program")]))


def test_hello(tmp_path):
    output = run([compile_c(ROOT / "examples/c/hello.c", tmp_path / "hello")])
    assert output == "tensor([[1.5000, 2.5000],\n        [3.5000, 4.5000]])\n"


def test_the_cmake_project(tmp_path):
    cmake = shutil.which("cmake", path=f"{ROOT / '.venv/bin'}:/usr/bin:/usr/local/bin")
    run([cmake, "-S", ROOT / "examples/c", "-B", tmp_path])
    run([cmake, "--build", tmp_path])
    assert "epoch   1/1" in run([tmp_path / "digits", "--epochs", "1", "--save", tmp_path / "w.pt"])


def test_commands_and_folders_exist():
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    named = re.findall(r"(?:`|&& |^)make ([a-z-]+)", TEXT, re.MULTILINE)
    assert {"demo", "test", "doctor", "help", "install", "gpu-check"} <= set(named) <= set(targets)
    rows = re.findall(r"^\| (`.*?) \|", TEXT, re.MULTILINE)
    for path in re.findall(r"`([a-z/_]+)`", " ".join(rows)):
        assert (ROOT / path).is_dir(), path
    for path in re.findall(r"\]\(([^)h][^)]*)\)", TEXT):
        assert (ROOT / path).exists(), path


def test_the_apt_line_has_all_that_doctor_asks_for(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "lib" / "build"))
    import doctor

    line = re.search(r"apt-get install -y ([a-z0-9 +-]+?) &&", TEXT).group(1).split()
    asked = (doctor.BUILD, doctor.TEST)
    needed = {package for *_, package, stage in doctor.TOOLS if stage in asked}
    assert needed - {"python3"} == set(line)


def test_the_test_command_installs_all_that_is_missing(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "lib" / "build"))
    import doctor

    calls = []
    bare = [
        (name, lambda: "", use, package, stage) for name, _, use, package, stage in doctor.TOOLS
    ]
    monkeypatch.setattr(doctor, "TOOLS", bare)
    monkeypatch.setattr(doctor, "root_prefix", list)
    monkeypatch.setattr(doctor.shutil, "which", lambda name: name)
    monkeypatch.setattr(doctor.subprocess, "call", lambda line, **_: calls.append(line) or 0)
    doctor.provide_test()
    update, first, then = calls
    asked = {package for *_, package, stage in bare if stage in (doctor.BUILD, doctor.TEST)}
    extra = {package for *_, package, stage in bare if stage == doctor.WHERE_FOUND}
    assert "update" in update and asked <= set(first)
    assert extra <= set(then) and not extra & set(first)  # one that is unknown keeps none away


def test_another_cargo_than_debians_is_named(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "lib" / "build"))
    import doctor

    for found in ("/elsewhere/cargo", None):
        monkeypatch.setattr(doctor.shutil, "which", lambda name, found=found: found)
        assert ("not /elsewhere/cargo" in doctor.crates()) is bool(found)


def test_a_library_that_is_not_there_is_asked_for(tmp_path):
    """An empty FLAMBEAU_LIBRARY counts as none; the advice names the variable."""
    program = compile_c(ROOT / "examples/c/hello.c", tmp_path / "hello")
    for name in ("", str(tmp_path / "absent.so")):
        text = run([program], fails=True, FLAMBEAU_LIBRARY=name, LD_LIBRARY_PATH="")
        assert "set FLAMBEAU_LIBRARY to the path of libflambeau.so.0" in text
        assert ("absent.so" if name else "libflambeau.so.0: ") in text
