"""What is linked with the stand-ins for an older C library finds its symbols there: none is newer,
and the libraries that they were in then are among those needed.
"""

import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "lib/build"))
import glibc  # noqa: E402

# A function of each library that is a part of the C library since 2.34.
PROGRAM = """
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
static void *run(void *x) { return x; }
int all(void) {
  pthread_t thread;
  return shm_open("/x", O_RDWR, 0) + !dlopen("x", RTLD_NOW) +
         pthread_create(&thread, 0, run, 0);
}
"""


@pytest.mark.skipif(not shutil.which("gcc"), reason="gcc is not there")
def test_a_library_for_an_older_system_names_what_it_needs(tmp_path):
    glibc.write("2.28", tmp_path)
    (tmp_path / "all.c").write_text(PROGRAM)
    apart = [tmp_path / soname for soname in glibc.APART]
    linked = tmp_path / "all.so"
    command = ["gcc", "-shared", "-fPIC", tmp_path / "all.c", "-o", linked, "-L", tmp_path]
    subprocess.run([*command, "-Wl,--no-as-needed", *apart], check=True)
    facts = glibc.output("objdump", "-Tp", linked)
    versions = {tuple(map(int, v.split("."))) for v in re.findall(r"GLIBC_([\d.]+)", facts)}
    assert versions and max(versions) <= (2, 28)
    assert set(glibc.APART) <= set(re.findall(r"NEEDED +(\S+)", facts))


def test_the_wheel_links_with_all_of_them():
    """That of shared memory only where CUDA's runtime, which uses it, is linked in."""
    rules = (ROOT / "lib/build/library.cmake").read_text()
    assert set(re.findall(r"\{old\}/(lib\w+\.so\.\d+)", rules)) == set(glibc.APART)
