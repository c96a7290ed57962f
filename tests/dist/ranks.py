"""Functions of tests on several ranks: a process each, all of which end before `run` returns,
whatever they do. The test holds their store, on a port that was free, so it outlives any rank."""

import concurrent.futures
import dataclasses
import importlib.util
import json
import os
import sys
import tempfile
import time
import traceback
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
for folder in (ROOT, ROOT / "bindings" / "python"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

from tests.dist import fork_server


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


def run(function, size, *arguments, timeout=60.0, without=(), **more):
    """The outcomes of `function(rank, size, *arguments)` of a test's module on each rank, `more` in
    their environment. Ranks of `without` are not waited for: they have stopped."""
    from flambeau.distributed import TCPStore

    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    named = function.__code__.co_filename, function.__name__
    with tempfile.TemporaryDirectory() as folder:
        tasks = [
            {
                "call": [*named, f"{folder}/{rank}.json", rank, size, arguments],
                "env": environment(rank, size, store.port, more),
                "output": f"{folder}/{rank}.txt",  # a file, so that it never waits
            }
            for rank in range(size)
        ]
        began = time.monotonic()
        ended = fork_server.run(tasks, folder, timeout, without)
        ends = [ended.get(rank, (None, None)) for rank in range(size)]
        return [outcome(folder, rank, began, *end) for rank, end in enumerate(ends)]


def outcome(folder, rank, began, code, at):
    """What a rank has left."""
    made, printed = Path(folder, f"{rank}.json"), Path(folder, f"{rank}.txt")
    value = json.loads(made.read_text()) if made.exists() else None
    output = printed.read_text() if printed.exists() else ""
    return Outcome(code, value, output, (at or time.monotonic()) - began)


def values(function, size, *arguments, **options):
    """What the function returned on each rank, all of which ended well and printed nothing."""
    return well(run(function, size, *arguments, **options))


def well(found):
    """The values of outcomes that are all as they should be."""
    for rank, one in enumerate(found):
        assert one.code == 0, f"rank {rank} ended with {one.code}:\n{one.output}"
        assert one.output == "", f"rank {rank} printed:\n{one.output}"
    return [one.value for one in found]


class Waiting:
    """Jobs of a module that wait more than they compute. Those of the tests that were collected all
    begin when the first is asked for, so that a module takes as long as the slowest."""

    def __init__(self):
        self._jobs, self._collected, self._begun = {}, [], {}

    def add(self, name, *job, **options):
        """A job, as `run` takes it, and the mark of the test that asks for it."""
        self._jobs[name] = job, options
        return pytest.mark.waits(self, name)

    def collected(self, name):
        """The test that asks for the job is to run."""
        self._collected.append(name)

    def run(self, name):
        """Its outcomes."""
        if name not in self._begun:
            names = [each for each in {*self._collected, name} if each not in self._begun]
            pool = concurrent.futures.ThreadPoolExecutor(len(names))
            for each in names:
                job, options = self._jobs[each]
                self._begun[each] = pool.submit(run, *job, **options)
            pool.shutdown(wait=False)
        return self._begun[name].result()

    def values(self, name):
        """What its function returned on each rank, as `values` has it."""
        return well(self.run(name))


def child(path, name, result, rank, size, arguments):
    """In the process of a rank: the function of the module at `path`."""
    try:
        spec = importlib.util.spec_from_file_location("ranks_of_test", path)
        module = importlib.util.module_from_spec(spec)
        sys.modules["ranks_of_test"] = module
        spec.loader.exec_module(module)
        value = getattr(module, name)(rank, size, *arguments)
        Path(result).write_text(json.dumps(value))
    except Exception:
        traceback.print_exc()
        sys.exit(1)


if __name__ == "__main__":
    fork_server.main(child, "numpy", "pytest", "tests.dist.ranks")
