"""The faults that a job of two ranks may meet, each many times: how long after one the last
survivor has its error, which error that is, and whether the checkpoint is whole. Exits with 1 where
one took longer than the deadline of its calls and two seconds more, or got another error than the
right one.

    python tests/bench/faults.py --rounds 20

A round in which this process itself was kept waiting says nothing of the job, and is done again."""

import argparse
import collections
import concurrent.futures
import datetime
import itertools
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
for path in (ROOT, ROOT / "bindings" / "python"):
    if str(path) not in sys.path:
        sys.path.insert(0, str(path))

from tests.dist import ranks  # noqa: E402

DEADLINE, MORE, STOPPED = 2.0, 2.0, 60.0
DISK = 3 << 20  # bytes of the disk that is too small
LIMIT = datetime.timedelta(seconds=DEADLINE)


class Rank:
    """This process in a round."""

    def __init__(self, rank, victim, delay, folder):
        import flambeau as torch

        self.torch, self.dist, self.rank = torch, torch.distributed, rank
        self.is_victim, self.delay, self.folder = rank == victim, delay, Path(folder)
        self.began = time.monotonic()

    def join(self):
        self.dist.init_process_group("gloo", timeout=LIMIT)
        self.dist.barrier()

    def fault(self, what=lambda: None):
        """Says that it comes now, and lets it come."""
        (self.folder / "fault").write_text(str(time.monotonic()))
        what()

    def later(self, signal_):
        """The signal after the round's delay, wherever this process is then."""
        if self.is_victim:
            end = lambda: self.fault(lambda: os.kill(os.getpid(), signal_))
            timer = threading.Timer(self.delay, end)
            timer.daemon = True
            timer.start()


def all_reduce(self):
    self.join()
    x = self.torch.ones(1 << 18)
    self.later(signal.SIGKILL)
    while True:
        self.dist.all_reduce(x, op=self.dist.ReduceOp.MAX)


def backward(self):
    torch = self.torch
    self.join()
    layers = [torch.nn.Linear(256, 256) for _ in range(6)]
    net = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers))
    end = lambda _: self.fault(lambda: os.kill(os.getpid(), signal.SIGKILL))
    for step in itertools.count():
        loss = net(torch.ones(8, 256)).sum()
        if self.is_victim and step == 3:
            layers[random.randrange(6)].weight.register_hook(end)
        loss.backward()


def saving(self):
    import flambeau.distributed.checkpoint as dcp

    self.join()
    for step in itertools.count():
        state = {"w": self.torch.full((1 << 16,), float(step)), "step": step}
        dcp.save(state, checkpoint_id=self.folder / "checkpoint")
        if not step:
            self.later(signal.SIGKILL)


def store(self):
    self.later(signal.SIGKILL)
    self.join()
    while True:
        self.dist.all_reduce(self.torch.ones(1))


def stopped(self):
    self.join()
    if self.is_victim:
        again = f"sleep {STOPPED + self.delay}; kill -CONT {os.getpid()}"
        subprocess.Popen(["sh", "-c", again], start_new_session=True)
    self.later(signal.SIGSTOP)
    while True:
        self.dist.all_reduce(self.torch.ones(1 << 10))


def full_disk(self):
    import flambeau.distributed.checkpoint as dcp

    self.join()
    path = self.folder / "disk" / "checkpoint"
    for step in range(3):  # the second does not fit beside the first, which stays until it is over
        state = {"w": self.torch.full((DISK // 6,), float(step)), "step": step}
        if step:
            self.fault()
        dcp.save(state, checkpoint_id=path)


def order(self):
    self.join()
    x = self.torch.ones(64)
    self.fault()
    for first in (True, False):
        if first == (self.rank == 0):
            self.dist.all_reduce(x)
        else:
            self.dist.broadcast(x, 0)


def port(self):
    self.join()


Kind = collections.namedtuple("Kind", "text run victim errors")
LOST, LATE = {"PeerLostError"}, {"CollectiveTimeoutError"}
NOT_MADE = LOST | LATE
KINDS = [
    *(Kind(f"kill -9 of rank {v} inside all_reduce", all_reduce, v, LOST) for v in (0, 1)),
    *(Kind(f"kill -9 of rank {v} in backward", backward, v, LOST) for v in (0, 1)),
    *(Kind(f"kill -9 of rank {v} while saving", saving, v, LOST) for v in (0, 1)),
    *(Kind(f"kill -9 of rank {v} while the store is made", store, v, NOT_MADE) for v in (0, 1)),
    Kind("SIGSTOP of rank 1 for a minute", stopped, 1, LATE | LOST),
    Kind("a full disk while saving", full_disk, None, {"CheckpointException"}),
    Kind("another order of collectives", order, None, LATE),
    Kind("a port that is taken", port, None, NOT_MADE | {"DistNetworkError"}),
]


def job(rank, size, kind, victim, delay, folder):
    """A rank's process: the error with which it ends, and when that came."""
    me = Rank(rank, victim, delay, folder)
    try:
        {k.run.__name__: k.run for k in KINDS}[kind](me)
    except Exception as error:
        found = {"error": type(error).__name__, "text": str(error), "at": time.monotonic()}
        return found | {"began": me.began}
    return {"error": "nothing", "text": "", "at": time.monotonic(), "began": me.began}


class Watch(threading.Thread):
    """Notices that this process does not run: others' faults then take longer than they do."""

    def __init__(self):
        super().__init__(daemon=True)
        self.last_gap = 0.0

    def run(self):
        while True:
            before = time.monotonic()
            time.sleep(0.05)
            if time.monotonic() - before > 0.8:
                self.last_gap = time.monotonic()


def whole(folder, outcomes):
    """The checkpoint has one step's values, all of them."""
    import flambeau as torch
    import flambeau.distributed.checkpoint as dcp

    found = {"w": torch.zeros(0), "step": -1}
    size = DISK // 6 if folder.parent.name == "disk" else 1 << 16
    found["w"] = torch.full((size,), -1.0)
    try:
        dcp.load(found, checkpoint_id=folder, no_dist=True)
    except dcp.CheckpointException as problem:
        raise AssertionError(f"{problem}\n{outcomes}") from problem
    assert set(found["w"].tolist()) == {float(found["step"])}, "parts of several saves"


def once(kind, number, base):
    """Survivors' errors in a round, and how many seconds after the fault the last one came."""
    folder = Path(tempfile.mkdtemp(dir=base))
    delay = random.Random(f"{kind.text} {number}").uniform(0.0, 0.4)
    more, patience = {}, 30.0
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        own_store = kind.run in (store, port)
        if own_store:
            address = other.getsockname()[1]
            more = {"MASTER_PORT": str(address), "TORCHELASTIC_USE_AGENT_STORE": "False"}
        if kind.run is port:
            other.listen()
        else:
            other.close()
        if kind.run is stopped:
            patience += STOPPED
        given = kind.run.__name__, kind.victim, delay, str(folder)
        disk = folder / "disk"
        if kind.run is full_disk:
            disk.mkdir()
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "none", disk], check=True)
        try:
            outcomes = ranks.run(job, 2, *given, timeout=patience, **more)
            if kind.run in (saving, full_disk):
                whole((disk if kind.run is full_disk else folder) / "checkpoint", outcomes)
        finally:
            if kind.run is full_disk:
                subprocess.run(["umount", disk], check=True)
    return judged(kind, outcomes, folder / "fault")


def judged(kind, outcomes, fault):
    since = float(fault.read_text()) if fault.exists() else None
    errors, seconds = [], 0.0
    for rank, one in enumerate(outcomes):
        dies = rank == kind.victim and kind.run is not stopped
        if dies:
            assert one.code == -signal.SIGKILL, (one.code, one.output)
            continue
        assert one.code == 0, f"rank {rank} ended with {one.code}: {one.output}"
        began = max(since or 0.0, one.value["began"])
        woken = STOPPED if rank == kind.victim else 0.0
        seconds = max(seconds, one.value["at"] - began - woken)
        errors.append(one.value["error"])
        if one.value["error"] not in kind.errors:
            print(f"{kind.text}, rank {rank}: {one.value['text']}", file=sys.stderr, flush=True)
    return seconds, errors


def measure(kind, rounds, watch, base):
    """A line of the table, and whether all was well."""
    beside = rounds if kind.run is stopped else 2

    def settled(number):
        for _ in range(5):
            begun = time.monotonic()
            try:
                found = once(kind, number, base)
            except AssertionError as problem:
                found = None, [f"wrong: {problem}"]
            if watch.last_gap < begun:
                break
        return found

    with concurrent.futures.ThreadPoolExecutor(beside) as pool:
        found = list(pool.map(settled, range(rounds)))
    errors = collections.Counter(e for _, all_ in found for e in all_)
    times = [s for s, _ in found if s is not None]
    worst = max(times, default=float("inf"))
    well = len(times) == rounds and worst < DEADLINE + MORE and set(errors) <= kind.errors
    shown = ", ".join(f"{n} x {e}" for e, n in errors.most_common())
    beyond = max(worst - DEADLINE, 0.0)
    line = f"| {kind.text} | {rounds} | {worst:.1f} s | {beyond:.1f} s | {shown} |"
    return line + ("" if well else " **wrong** |"), well


def in_own_mounts(arguments):
    """This program once more, where it may mount a disk that is too small."""
    ways = ["-m"] if os.geteuid() == 0 else ["-Urm"]
    os.execvp("unshare", ["unshare", *ways, sys.executable, __file__, "--mounts", *arguments])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--only", default="", help="kinds whose name has this part")
    parser.add_argument("--mounts", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if not given.mounts:
        in_own_mounts(sys.argv[1:])
    watch = Watch()
    watch.start()
    print(f"deadline {DEADLINE:.0f} s\n\n| fault | rounds | worst | beyond the deadline | errors |")
    print("|---|---:|---:|---:|---|", flush=True)
    well = True
    with tempfile.TemporaryDirectory() as base:
        for kind in KINDS:
            if given.only in kind.text:
                line, good = measure(kind, given.rounds, watch, base)
                print(line, flush=True)
                well = well and good
    sys.exit(not well)


if __name__ == "__main__":
    main()
