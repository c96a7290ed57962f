"""Functions of tests on several ranks: a process each, all of which end before `run` returns,
whatever they do. The test holds their store, on a port that was free, so it outlives any rank."""

import dataclasses
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
for folder in (ROOT, ROOT / "bindings" / "python"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


@dataclasses.dataclass
class Outcome:
    """How a rank ended: its exit code, None where it had to be killed; what its function returned,
    as JSON has it; what it printed; and after how many seconds."""

    code: int | None
    value: object
    output: str
    seconds: float


def environment(rank, size, port, more):
    """That of a launcher's child."""
    return os.environ | {
        **{"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "RANK": str(rank)},
        **{"WORLD_SIZE": str(size), "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(size)},
        **{"TORCHELASTIC_USE_AGENT_STORE": "True", "FLAMBEAU_NUM_THREADS": "1"},
        **{"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUNBUFFERED": "1"},
        **more,
    }


def run(function, size, *arguments, timeout=30.0, without=(), **more):
    """The outcomes of `function(rank, size, *arguments)` of a test's module on each rank, `more` in
    their environment. Ranks of `without` are not waited for: they have stopped."""
    from flambeau.distributed import TCPStore

    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    deadline = time.monotonic() + timeout
    with tempfile.TemporaryDirectory() as folder:
        ranks = []
        try:
            for rank in range(size):
                named = [function.__code__.co_filename, function.__name__, f"{folder}/{rank}.json"]
                ranks.append(start(named, rank, size, store.port, arguments, folder, more))
            ended = [None] * size
            while time.monotonic() < deadline and not all(
                ended[r] or r in without for r in range(size)
            ):
                for rank, process in enumerate(ranks):
                    if ended[rank] is None and process.poll() is not None:
                        ended[rank] = time.monotonic()
                time.sleep(0.005)
        finally:
            for process in ranks:
                process.kill()
                process.wait()
        return [outcome(folder, rank, ranks[rank], ended[rank]) for rank in range(size)]


def start(named, rank, size, port, arguments, folder, more):
    """One rank's process, which writes what it prints to a file, so that it never waits."""
    command = [sys.executable, __file__, *named, str(rank), str(size), json.dumps(arguments)]
    with open(f"{folder}/{rank}.txt", "w") as output:
        process = subprocess.Popen(
            command,
            env=environment(rank, size, port, more),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    process.began = time.monotonic()
    return process


def outcome(folder, rank, process, ended):
    """What a rank has left."""
    made = Path(folder, f"{rank}.json")
    value = json.loads(made.read_text()) if made.exists() else None
    output = Path(folder, f"{rank}.txt").read_text()
    return Outcome(
        None if ended is None else process.returncode, value, output,
        (ended or time.monotonic()) - process.began,
    )  # fmt: skip


def values(function, size, *arguments, **options):
    """What the function returned on each rank, all of which ended well and printed nothing."""
    found = run(function, size, *arguments, **options)
    for rank, one in enumerate(found):
        assert one.code == 0, f"rank {rank} ended with {one.code}:\n{one.output}"
        assert one.output == "", f"rank {rank} printed:\n{one.output}"
    return [one.value for one in found]


def child(path, name, result, rank, size, arguments):
    """In the process of a rank: the function of the module at `path`."""
    spec = importlib.util.spec_from_file_location("ranks_of_test", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["ranks_of_test"] = module
    spec.loader.exec_module(module)
    value = getattr(module, name)(int(rank), int(size), *json.loads(arguments))
    Path(result).write_text(json.dumps(value))


if __name__ == "__main__":
    signal.alarm(120)  # where the test itself was killed
    try:
        child(*sys.argv[1:])
    except Exception:
        traceback.print_exc()
        sys.exit(1)
