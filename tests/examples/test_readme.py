"""The README holds what it says: every program in it runs, a text block after a program is what
that program prints, its commands exist, and its apt line has all that the build asks for.
"""

import importlib.util
import os
import re
import shlex
import shutil
import sys

import pytest
from programs import ROOT, compile_c, run

TEXT = (ROOT / "README.md").read_text()
PROJECT = (ROOT / "pyproject.toml").read_text()
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


def commands() -> list[list[str]]:
    """The commands of the shell blocks, without variables that are set before them."""
    text = "\n".join(code for language, code in BLOCKS if language == "sh").replace("\\\n", " ")
    text = text.replace("S=$(command -v sudo);", "").replace("$S ", "")
    lexer = shlex.shlex(text.replace("\n", " ;\n"), posix=True, punctuation_chars="();<>|&")
    lexer.whitespace_split = True
    found: list[list[str]] = [[]]
    for word in lexer:
        if set(word) <= set("();|&"):
            found.append([])
        elif found[-1] or not re.match(r"[A-Z_]+=", word):
            found[-1].append(word)
    return [words for words in found if words]


def test_what_the_shell_blocks_start_is_there():
    """A demo has been made before: a program of a clone is in it, or a block above makes it."""
    started = commands()
    assert len(started) > 10 and ["make", "demo"] in started and ["umask", "077"] in started
    for name, *words in started:
        folder, _, program = name.rpartition("/")
        if folder == "build/rust/release":
            assert (ROOT / "examples/rust" / program / "Cargo.toml").is_file(), name
        elif folder == "build/c":
            cmake = (ROOT / "examples/c/CMakeLists.txt").read_text()
            assert program in re.search(r"foreach\(name (.*?)\)", cmake).group(1).split(), name
        elif folder:
            assert (ROOT / name).is_file() and os.access(ROOT / name, os.X_OK), name
        else:
            assert name == "umask" or shutil.which(name), name
        if "-m" in words and name.endswith("python"):
            module = words[words.index("-m") + 1]
            assert importlib.util.find_spec(module), module
        for word in words:
            assert not re.match(r"examples/\S+$", word) or (ROOT / word).exists(), word


def test_a_key_is_made_in_one_way():
    from flambeau.distributed.elastic._job_key import HOW_TO_MAKE_A_KEY

    assert f"\n{HOW_TO_MAKE_A_KEY}\n" in TEXT
    assert re.search(r"^\*\.key$", (ROOT / ".gitignore").read_text(), re.MULTILINE)


def test_the_clone_has_the_commands_of_the_wheel():
    named = re.search(r"^\[project.scripts\]\n(.*?)\n\n", PROJECT, re.MULTILINE | re.DOTALL).group(
        1
    )
    names = [line.split(" = ")[0] for line in named.splitlines()]
    assert "flambeau-run" in names
    for name in names:
        said = run([ROOT / ".venv/bin" / name, "--help"])
        assert said.startswith(f"usage: {name} ")


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
