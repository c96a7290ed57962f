"""No callback comes, and no object of the program's is dropped, while the library holds a lock: the
other side of such a lock is a thread that has Python's and waits for the library's."""

import functools
import os
import pathlib
import subprocess
import sys

import pytest

from tests.harness import child

HERE = pathlib.Path(__file__).parent
# Files whose tests are full of callbacks and of drops on other threads.
FILES = "data", "saved_hooks", "checkpoint", "nodes", "owners", "warnings"

# Another thread wants Python's lock all the time, so that it changes hands at every callback.
BUSY = """
import sys, threading

def want():
    while True:
        pass

sys.setswitchinterval(1e-4)
threading.Thread(target=want, daemon=True).start()
"""


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    """Runs Python under a watcher of locks (tests/harness/locks/held.c)."""
    folder = tmp_path_factory.mktemp("locks")
    preloaded = folder / "held.so"
    source = HERE.parent / "harness/locks/held.c"
    command = ["cc", "-shared", "-fPIC", "-O1", source, "-o", preloaded, "-ldl"]
    subprocess.run(command, check=True)
    (folder / "busy.py").write_text(BUSY)
    environment = {
        "LD_PRELOAD": str(preloaded),
        "PYTHONPATH": os.pathsep.join([str(folder), *sys.path]),
    }
    # The time is for a lock that nobody gives back.
    return functools.partial(child.python, timeout=900, **environment)


def test_the_watcher_sees_a_callback_under_a_lock(watched, tmp_path):
    """Of a library that has the name, and does it."""
    source = """
        #include <pthread.h>
        static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
        void call(void (*back)(void)) {
          pthread_mutex_lock(&lock);
          back();
          pthread_mutex_unlock(&lock);
        }
    """
    faulty = tmp_path / "libflambeau.so.0"
    command = ["cc", "-xc", "-", "-shared", "-fPIC", "-o", faulty]
    subprocess.run(command, input=source, text=True, check=True)
    program = f"import ctypes; ctypes.CDLL('{faulty}').call(ctypes.CFUNCTYPE(None)(print))"
    done = watched("-c", program)
    assert "inside of libflambeau's lock" in done.stderr, done.stderr


def test_no_callback_comes_under_a_lock(watched, device):
    if str(device) != "cpu":
        pytest.skip("locks are the same on every device")
    files = [str(HERE / f"test_{name}.py") for name in FILES]
    done = watched("-m", "pytest", "-q", "-p", "busy", "-p", "no:cacheprovider", *files)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
