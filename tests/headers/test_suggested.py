"""What errors suggest in C compiles: each row of the engine's tables is a line of a C99 program
that includes the headers.
"""

import pathlib
import re
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FLAGS = ["-std=c99", "-pedantic-errors", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
WORDS = re.compile(r"[ =a-z]*(FLAM_TRUE|FLAM_FALSE|NULL|true)?")  # around a value: no call
GIVEN = """#include <flambeau/flambeau.h>
void suggested(flam_tensor *x, flam_tensor *loss, flam_module *model, flam_grad_scaler *scaler,
               flam_optimizer *optimizer, flam_device_type device_type, flam_dtype dtype,
               const int64_t *shape, size_t n_shape);
void suggested(flam_tensor *x, flam_tensor *loss, flam_module *model, flam_grad_scaler *scaler,
               flam_optimizer *optimizer, flam_device_type device_type, flam_dtype dtype,
               const int64_t *shape, size_t n_shape) {
  flam_scope scope = 0;
"""
PLACES = ("FLAM_F32, FLAM_DEVICE_NONE", "FLAM_DTYPE_NONE, flam_device_make(FLAM_CUDA, 0)")


def lines():
    """C's column of the tables of calls and words, filled in."""
    engine = (ROOT / "lib/base/wording.cc").read_text()
    found = []
    for table in re.findall(r"kCalls\[\] = \{\n.*?kWords\[\] = \{\n.*?\n\};", engine, re.S):
        for row in re.findall(r'\{((?:"(?:[^"])*"[,\s]*)+)\}', table):
            columns = [re.sub(r'"\s*"', "", c) for c in re.split(r'(?<="),\s*(?=")', row)]
            text = columns[1].strip('", \n').replace("$x", "model" if "state" in row else "x")
            if "$" not in text.replace("$a", "").replace("$p", "") and text != "$a":
                found += [text.replace("$p", p).replace("$a", "1") for p in PLACES]
    return [line for line in dict.fromkeys(found) if not WORDS.fullmatch(line)]


def test_what_errors_suggest_in_c_compiles(tmp_path):
    said = lines()
    assert len(said) > 15, said
    unused = "x loss model scaler optimizer device_type dtype shape n_shape scope".split()
    body = "".join(f"  {{ {line}; }}\n" for line in said)
    body += "".join(f"  (void){name};\n" for name in unused)
    path = tmp_path / "suggested.c"
    path.write_text(GIVEN + body + "}\n")
    compilers = [c for c in ("gcc", "clang") if shutil.which(c)]
    assert compilers
    for compiler in compilers:
        command = [compiler, *FLAGS, f"-I{ROOT / 'include'}", str(path)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
