"""Programs of the last release on today's library, and that abi.py sees what breaks them."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import abi

LIBRARY = os.environ.get("FLAMBEAU_LIBRARY", str(abi.ROOT / "build" / "libflambeau.so.0"))


def stored_programs():
    with tarfile.open(abi.RELEASE) as archive:
        return sorted(n for n in archive.getnames() if n.endswith("_test.c"))


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    folder = tmp_path_factory.mktemp("programs")
    with tarfile.open(abi.RELEASE) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(folder)
    return folder


@pytest.mark.parametrize("name", stored_programs())
def test_a_program_of_the_last_release_runs(name, sources):
    program = sources / pathlib.Path(name).stem
    subprocess.run(
        ["cc", "-std=c99", "-w", f"-I{sources / 'include'}", "-o", program, sources / name]
        + ["-ldl", "-lm", "-lpthread"],
        check=True,
    )
    environment = os.environ | {"FLAMBEAU_LIBRARY": LIBRARY}
    ran = subprocess.run([program], cwd=abi.ROOT, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr


EYE, SOFTPLUS = r"(\} flam_eye_options;)", r"(\} flam_softplus_options;)"
HARMLESS = {
    "a field at the end": (EYE, r"int64_t more FLAM_DEFAULT(0); /**< x */\n\1"),
    "a number of its own": (r"(FLAM_SCATTER_SUM = 1)", r"\1, FLAM_SCATTER_OTHER = 77"),
}
BREAKS = {
    "a field in between": (
        r"(typedef struct flam_eye_options \{\n.*\n)",
        r"\1  int64_t more FLAM_DEFAULT(0); /**< x */\n",
    ),
    "a default that is not 0": (EYE, r"int64_t more FLAM_DEFAULT(1); /**< x; default 1 */\n\1"),
    "a hole behind the end": (
        SOFTPLUS,
        r"int32_t more FLAM_DEFAULT(0); /**< x */\n  double most FLAM_DEFAULT(0); /**< x */\n\1",
    ),
    "a function gone": (r"\*flam_tril\(", "*flam_trill("),
    "another type": (r"flam_eye\(int64_t n", "flam_eye(double n"),
    "a number reused": (r"FLAM_SCATTER_SUM = 1\b", "FLAM_SCATTER_SUM = 78"),
}


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    path = tmp_path_factory.mktemp("abi") / "today.tar.xz"
    abi.store(path)
    return path


@pytest.mark.skipif(not shutil.which("abidiff"), reason="abidiff is not there")
@pytest.mark.parametrize("change", [*HARMLESS, *BREAKS])
def test_what_programs_notice_is_found(change, stored, tmp_path):
    include = tmp_path / "include"
    shutil.copytree(abi.INCLUDE, include)
    pattern, new = (HARMLESS | BREAKS)[change]
    edited = 0
    for header in (include / "flambeau").glob("*.h"):
        if header.name not in ("derived.h", "load.h"):
            text, n = re.subn(pattern, new, header.read_text())
            header.write_text(text)
            edited += n
    assert edited == 1
    assert (abi.compare(include, stored) == 0) == (change in HARMLESS)
