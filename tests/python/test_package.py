"""The package itself: its import, its run as torch, and how it finds the library."""

import pathlib
import subprocess
import sys
import textwrap

from tests.harness import child

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "bindings/python/flambeau"


def test_import_is_quick_and_light():
    """Best of five fresh processes, bytecode cached; what takes long to load is not pulled in."""
    assert child.python("-m", "compileall", "-q", PACKAGE).returncode == 0
    code = (
        "import sys, time; had = set(sys.modules); t = time.process_time(); import flambeau; "
        "print(time.process_time() - t); slow = {'numpy', 'json', 'ctypes', 'traceback', 're'}; "
        "assert not (slow | {'enum'}) & (set(sys.modules) - had)"
    )
    times = [float(child.output(code)) for _ in range(5)]
    assert min(times) < 0.1, times


def test_an_older_library_is_refused_by_its_version(tmp_path):
    source = """
        unsigned flam_version(void) { return 0 << 16 | 1 << 8 | 9; }
        int flam_version_require(unsigned major, unsigned minor) { return major || minor > 1; }
        void flam_error_clear(void) {}
    """
    older, names = tmp_path / "libflambeau.so.0", tmp_path / "names"
    names.write_text("FLAMBEAU_0 { global: *; };")
    linked = f"-Wl,-soname,{older.name},--version-script={names}"
    command = ["cc", "-xc", "-", "-shared", "-fPIC", linked, "-o", older]
    subprocess.run(command, input=source, text=True, check=True)
    done = child.python("-c", "import flambeau", FLAMBEAU_LIBRARY=str(older), LD_BIND_NOW="")
    assert "is version 0.1.9; this package needs 0.2 or newer" in done.stderr, done.stderr


def test_as_torch(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
        import sys
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        from torch.utils.data import DataLoader, TensorDataset
        from torch.optim.lr_scheduler import StepLR
        assert __name__ == "__main__" and sys.argv[1:] == ["--flag", "3"]
        import flambeau
        assert torch is flambeau and nn is flambeau.nn and torch.__name__ == "flambeau"
        from importlib.metadata import PackageNotFoundError, version
        assert version("torch") == torch.__version__
        try:
            version("no-such-thing")
        except PackageNotFoundError:
            pass
        print(torch.ones(2) + 1, torch.float32)
        try:
            import torch.nothing
        except ModuleNotFoundError as problem:
            print(problem)
    """)
    )
    done = child.python("-m", "flambeau.as_torch", str(script), "--flag", "3")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("tensor([2., 2.]) torch.float32\nNo module named 'torch.nothing'")


def test_a_choice_among_devices_ends_at_the_cpu(torch):
    """The line that tutorials begin with asks for Apple's GPU too."""
    assert not torch.backends.mps.is_available() and not torch.backends.mps.is_built()


def test_help_speaks_python(torch):
    text = torch.add.__doc__ + torch.Tensor.add_.__doc__ + torch.cat.__doc__
    assert "`ShapeError`" in text and "`DeviceMismatchError`" in text
    assert "FLAM_ERROR" not in text and "`flam_" not in text


def test_missing_library_is_named(tmp_path):
    done = child.python("-c", "import flambeau", FLAMBEAU_LIBRARY=str(tmp_path))
    assert done.returncode == 1
    assert f"FLAMBEAU_LIBRARY names '{tmp_path}', where there is no libflambeau.so.0" in done.stderr


def test_fast_calls_keep_the_gil(torch):
    """The fast module's calls must not let another thread run: a counter in Python stands still
    meanwhile."""
    import threading
    import time

    count, running = [0], True

    def spin():
        while running:
            count[0] += 1

    before = sys.getswitchinterval()
    sys.setswitchinterval(10)  # only a released GIL lets the other thread in now
    thread = threading.Thread(target=spin)
    try:
        x = torch.ones(1)
        thread.start()
        time.sleep(0.01)  # hands the GIL over once, until the thread is asked to give it back
        start = count[0]
        for _ in range(100):
            x + x
        assert count[0] == start
    finally:
        running = False
        sys.setswitchinterval(before)
        thread.join()
