"""Every suite of the repository as one table: what runs it, on which device, and what it needs.
`make test` and the check on a machine with a GPU walk the same table.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SIM = "devices=2,memory=256MiB,as=cuda"
STANDIN = "devices=2,memory=256MiB"  # what is simulated lies below CUDA's calls

# What changes outcomes, and is the user's own: how GPUs' memory is kept and launches wait, checks,
# colours, what Python makes of warnings, and the language of other programs' messages.
USERS = (
    *("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF"),
    *("CUDA_LAUNCH_BLOCKING", "FLAMBEAU_ALLOC_CONF", "FLAMBEAU_LAUNCH_BLOCKING", "FLAMBEAU_CHECK"),
    *("NO_COLOR", "FORCE_COLOR", "PYTHONWARNINGS", "PYTEST_ADDOPTS", "LANG", "LANGUAGE"),
)


def environment() -> dict[str, str]:
    """The caller's, without that and in no language."""
    groups = ("LC_", "FLAMBEAU_STANDIN_")
    kept = {k: v for k, v in os.environ.items() if k not in USERS and not k.startswith(groups)}
    return kept | {"LC_ALL": "C.UTF-8"}


@dataclass
class Suite:
    name: str
    command: list[str]
    env: dict[str, str] = field(default_factory=dict)
    cwd: Path = ROOT
    missing: str = ""  # why it cannot run here
    count: int = 1  # of the parts in which it runs where a command may last only so long
    part: tuple[str, ...] = ("-p", "tests.harness.part", "--part={k}/{n}")  # the runner's options

    def parts(self) -> list[Suite]:
        if self.count == 1:
            return [self]
        return [
            replace(
                self,
                name=f"{self.name} {k}/{self.count}",
                command=self.command + [o.format(k=k, n=self.count) for o in self.part],
                count=1,
            )
            for k in range(1, self.count + 1)
        ]


@dataclass
class Outcome:
    suite: Suite
    status: str  # passed, failed, not run
    seconds: float
    closing: str  # the runner's own last line
    output: str = ""
    cut: bool = False  # the time was over before it was done


def missing_modules(*names: str) -> str:
    absent = [n for n in names if importlib.util.find_spec(n) is None]
    return f"Python packages not installed: {', '.join(absent)}" if absent else ""


def pytest(
    name: str, folders: list[str], *options: str, env: dict[str, str] | None = None, needs=()
) -> Suite:
    there = [f for f in folders if list((ROOT / f).glob("test_*.py"))]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *there, *options]
    missing = "" if there else f"no tests in {', '.join(folders)}"
    return Suite(name, command, env or {}, missing=missing or missing_modules("pytest", *needs))


def library_of(build: Path, device: str) -> dict[str, str]:
    folder = build / ("standin" if device == "standin" else ".")
    return {"FLAMBEAU_LIBRARY": str(folder / "libflambeau.so.0")}


def python_suites(build: Path, device: str) -> list[Suite]:
    """The op table and the Python package on one device: cpu, sim, cuda, or standin, where a
    stand-in for CUDA's runtime and libraries runs the provider and the kernels on the CPU.
    """
    ops = library_of(build, device)
    package = dict(ops)
    if device == "sim":
        package["FLAMBEAU_SIM"] = SIM
    if device == "standin":
        package["FLAMBEAU_SIM"] = ops["FLAMBEAU_SIM"] = STANDIN
    option, needs = f"--device={device}", ("cffi", "numpy", "scipy")
    listed = [
        pytest(f"ops on {device}", ["tests/ops"], option, env=ops, needs=needs),
        pytest(f"python on {device}", ["tests/python"], option, env=package, needs=needs),
    ]
    seeds = pytest(f"seeds on {device}", ["tests/seeds"], option, env=package, needs=needs[:2])
    return [replace(suite, count=4) for suite in listed] + [seeds]


def dist(build: Path) -> Suite:
    """Jobs of several processes, of which each test starts its own."""
    return pytest("jobs", ["tests/dist"], env=library_of(build, "cpu"), needs=("cffi", "numpy"))


def cuda12(build: Path) -> Suite:
    """The oldest CUDA that the sources serve."""
    suite = pytest("CUDA 12.9", ["tests/cuda12"])
    missing = "" if build.name == "cuda" else "this build has no CUDA"
    return replace(suite, missing=suite.missing or missing)


def machine_code(build: Path) -> Suite:
    """What the compiled CUDA kernels are made of, for GPUs that nobody needs to have."""
    suite = pytest("machine code", ["tests/inspect"])
    if suite.missing:
        return suite
    said = subprocess.run(
        [sys.executable, "tests/inspect/compiled_kernels.py", "--missing", str(build)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    return replace(suite, missing=(said.stdout + said.stderr).strip())


def extreme(build: Path, device: str) -> Suite:
    """Every exported function with arguments that no program should pass."""
    name, env = f"extreme arguments on {device}", library_of(build, device)
    return replace(pytest(name, ["tests/extreme"], f"--device={device}", env=env), count=4)


def examples(build: Path, device: str) -> list[Suite]:
    """The examples of every language: all that they can on the cpu, and that they learn on a GPU,
    there each language by itself."""
    if device == "cpu":
        return [pytest("examples on cpu", ["tests/examples"], needs=("cffi", "numpy"))]
    env = python_suites(build, device)[0].env
    absent = {"rust": "" if shutil.which("cargo") else "cargo is not there"}
    listed = []
    for language in "python", "c", "rust":
        options = (f"--device={device}", f"--language={language}")
        name = f"examples on {device}, {language}"
        suite = pytest(name, ["tests/examples"], *options, env=env, needs=("cffi", "numpy"))
        listed.append(replace(suite, missing=suite.missing or absent.get(language, "")))
    return listed


def of_library(build: Path, devices: tuple[str, ...]) -> list[Suite]:
    """All that concerns a library, on these devices where a suite takes one."""
    library = {"FLAMBEAU_LIBRARY": str(build / "libflambeau.so.0")}
    listed = [ctest(build), pytest("exports", ["tests/capi"], env=library), abi()]
    if "cuda" in devices:  # over the stand-in ctest has them
        c = ctest(build, "C on cuda")
        programs = [*c.command, "-R", r"^capi\.[a-z0-9_]+$"]
        listed.append(replace(c, command=programs, env={"FLAMBEAU_TEST_DEVICE": "cuda"}, count=1))
    for device in devices:
        listed += [*python_suites(build, device), extreme(build, device)]
    listed.append(dist(build))
    for device in devices:
        listed += examples(build, device) if device != "sim" else []  # the cpu's have it
    return listed + rust(build, devices)


def instruction_sets(build: Path) -> list[Suite]:
    """How exact numbers are on older processors: releases hold three builds of each kernel."""
    missing = "" if build.name in ("cpu", "cuda") else "this build has one instruction set"
    suites = []
    for isa in ("sse2", "avx2"):
        env = {"FLAMBEAU_LIBRARY": str(build / "libflambeau.so.0"), "FLAMBEAU_ISA": isa}
        only = ("--device=cpu", "-k", "test_precision")
        needs = ("cffi", "numpy", "scipy")
        suite = pytest(f"precision on {isa}", ["tests/ops"], *only, env=env, needs=needs)
        suites.append(replace(suite, missing=suite.missing or missing))
    return suites


def inner_loops(build: Path) -> Suite:
    """What llvm-mca says of the compiled loops, beside a table of this compiler's."""
    suite = pytest("inner loops", ["tests/inner_loops"])
    said = subprocess.run(
        [sys.executable, "tests/bench/loops/inner_loops.py", "--missing", str(build)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    return replace(suite, missing=suite.missing or said.stdout.strip())


def ctest(build: Path, name: str = "C++ and C") -> Suite:
    program = shutil.which(
        "ctest", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    )
    missing = "" if program else "ctest is not there"
    if not list((build / "tests").glob("*_test")):
        missing = "no tests were built: GoogleTest (libgtest-dev) is not there"
    command = [program or "ctest", "--test-dir", str(build), "--output-on-failure"]
    command.append("--no-tests=error")
    return Suite(name, command, missing=missing, count=2, part=("-I", "{k},,{n}"))


def rust(build: Path, devices: tuple[str, ...]) -> list[Suite]:
    """The crates as they open the library, with the oldest compiler (Debian's), and linked; on
    device cuda, where these have it or a stand-in for it; their documentation.
    """
    workspace = ROOT / "bindings" / "rust"
    test = ["test", "--locked", "--workspace"]
    linked = "test --locked -p flambeau --no-default-features --features link --test errors".split()
    docs = ["doc", "--locked", "--workspace", "--no-deps"]

    def suite(name: str, cargo: str, arguments: list[str], missing: str, **more: str) -> Suite:
        target = ROOT / "build" / name.replace(" ", "-")
        env = {"FLAMBEAU_LIBRARY": str(build / "libflambeau.so.0"), "CARGO_TARGET_DIR": str(target)}
        return Suite(name, [cargo, *arguments], {**env, **more}, workspace, missing)

    missing = "" if shutil.which("cargo") else "cargo is not there: apt-get install cargo"
    debian = (
        "" if os.access("/usr/bin/rustc", os.X_OK) else "no /usr/bin/cargo: apt-get install cargo"
    )
    oldest = {"RUSTC": "/usr/bin/rustc", "RUSTDOC": "/usr/bin/rustdoc"}
    over = {"CARGO_TARGET_DIR": str(ROOT / "build" / "rust"), "FLAMBEAU_TEST_DEVICE": "cuda"}
    simulated = {"standin": {"FLAMBEAU_SIM": "devices=2,memory=64MiB"}, "cuda": {}}
    found = {"FLAMBEAU_LIB_DIR": str(build), "LD_LIBRARY_PATH": str(build)}
    return [
        suite("rust", "cargo", test, missing),
        *(
            suite(
                f"rust on {device}",
                "cargo",
                [*test, "--tests"],
                missing,
                **over | library_of(build, device) | simulated[device],
            )
            for device in devices
            if device in simulated
        ),
        suite("rust oldest", "/usr/bin/cargo", test, debian, **oldest),
        suite("rust linked", "cargo", linked, missing, **found),
        suite("rust docs", "cargo", docs, missing, RUSTDOCFLAGS="-D warnings"),
    ]


def abi() -> Suite:
    """Today's headers against the last release's stored ABI: nothing that a program uses may be
    gone.
    """
    missing = "" if shutil.which("abidiff") else "abidiff (apt package abigail-tools) is not there"
    return Suite("ABI", [sys.executable, "tests/capi/abi.py"], missing=missing)


def ends(process: subprocess.Popen, timeout: float | None) -> bool:
    try:
        process.wait(timeout)
    except subprocess.TimeoutExpired:
        return False
    return True


def run(suite: Suite, timeout: float | None = None) -> Outcome:
    if suite.missing:
        return Outcome(suite, "not run", 0.0, suite.missing)
    start = time.monotonic()
    with tempfile.TemporaryFile() as said:  # a pipe stays open as long as what a suite left behind
        process = subprocess.Popen(
            suite.command,
            cwd=suite.cwd,
            env=environment() | suite.env,
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # so that what it started ends with it
        )
        cut = not ends(process, timeout)
        if cut:
            process.send_signal(signal.SIGABRT)  # of which pytest says where it is
            ends(process, 5)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        # Who still writes shares the position, which therefore stays.
        whole = os.pread(said.fileno(), os.fstat(said.fileno()).st_size, 0)
        output = whole.decode(errors="replace")
    seconds = time.monotonic() - start
    if cut:
        return Outcome(suite, "not run", seconds, f"cut off after {seconds:.0f} s", output, True)
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    last = lines[-1] if lines else ""
    telling = ("test result:", "tests passed", " passed", "failed", " error")
    closing = next((line for line in reversed(lines) if any(t in line for t in telling)), last)
    status = "passed" if process.returncode == 0 else "failed"
    nothing_ran = process.returncode == 5 and "pytest" in suite.command
    closing = "pytest found no tests" if nothing_ran else closing
    return Outcome(suite, status, seconds, closing, output)
