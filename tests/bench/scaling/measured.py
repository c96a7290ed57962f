"""Collectives of two processes on this machine, measured, and the latency and bandwidth of each by
least squares. What is fitted is what a program sees: Gloo over loopback, its copies and its
threads, on a machine whose cores are shared. It says how well the model's form holds, and nothing
of GPUs."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import nnls

from .collectives import Link
from .training import overlapped

RANKS = 2
SIZES = tuple(4 * 8**k for k in range(9))  # 4 B to 64 MiB
SECONDS, ROUNDS = 0.25, 4  # of each row in each round, and how often all of them are made


def steps_and_bytes(ranks: int) -> dict[str, tuple[float, float]]:
    """How often a message is waited for, and which part of the bytes passes the busiest link."""
    part = (ranks - 1) / ranks
    return {
        "all_reduce": (2 * (ranks - 1), 2 * part),
        "reduce_scatter": (ranks - 1, part),
        "all_gather": (ranks - 1, part),
        "broadcast": (ranks - 1, 1.0),
        "all_to_all": (ranks - 1, part),
    }


@dataclass(frozen=True)
class Fit:
    link: Link
    residuals: dict[int, float]  # model over measured, by size

    @property
    def worst(self) -> float:
        return max(max(r, 1 / r) for r in self.residuals.values())


def fit(seconds: dict[str, float], steps: float, share: float) -> Fit:
    """Least squares of relative errors, since the times span four powers of ten; neither number
    can be negative."""
    sizes = np.array([float(size) for size in seconds])
    times = np.array(list(seconds.values()))
    terms = np.stack([np.full_like(sizes, steps), share * sizes], 1) / times[:, None]
    (latency, inverse), _ = nnls(terms, np.ones(len(sizes)))
    model = (steps * latency + share * sizes * inverse) / times
    residuals = {int(size): float(r) for size, r in zip(sizes, model)}
    return Fit(Link(float(latency), float(1 / max(inverse, 1e-30))), residuals)


def fits(found: dict) -> dict[str, Fit]:
    """Of a measurement's every collective."""
    kinds = steps_and_bytes(found["ranks"])
    return {name: fit(found["seconds"][name], *kinds[name]) for name in found["seconds"]}


def predicted_step(found: dict, name: str) -> float:
    """A DDP step from the same step alone on both ranks: a third of it is forward, and the bucket
    travels behind the rest."""
    step, link = found["steps"][name], fits(found)["all_reduce"].link
    steps, share = steps_and_bytes(found["ranks"])["all_reduce"]
    transfer = steps * link.latency + share * step["bytes"] / link.bandwidth
    return step["alone"] / 3 + overlapped(step["alone"] * 2 / 3, 1, transfer)


def _calls(torch, dist):
    """Name, size and call; a size is that of all parts together."""
    ranks = dist.get_world_size()
    for size in SIZES:
        whole = torch.ones(max(size // 4, ranks))
        part = torch.ones(len(whole) // ranks)
        other = torch.empty(len(whole))
        yield "all_reduce", size, lambda x=whole: dist.all_reduce(x)
        yield "broadcast", size, lambda x=whole: (dist.broadcast(x, 0), dist.broadcast(x, 1))
        yield "all_gather", size, lambda x=part, y=other: dist.all_gather_into_tensor(y, x)
        yield "reduce_scatter", size, lambda x=whole, y=part: dist.reduce_scatter_tensor(y, x)
        yield "all_to_all", size, lambda x=whole, y=other: dist.all_to_all_single(y, x)


def _trainings(torch):
    """Name, bytes of the gradients, and a step alone and as one of DDP."""
    import dist_rows

    for name, model, side in dist_rows.models(torch.nn):
        x, y = torch.randn(64, 1, side, side), torch.randint(0, 10, (64,))
        size = 4 * sum(p.numel() for p in model.parameters())
        both = torch.nn.parallel.DistributedDataParallel(model)
        yield (
            name,
            size,
            dist_rows.step_of(torch, model, x, y),
            dist_rows.step_of(torch, both, x, y),
        )


def _least(call, dist, torch, seconds: float) -> float:
    """The least time of a call, made as often by all ranks."""
    call()
    begun = time.perf_counter()
    call()
    once = torch.tensor([time.perf_counter() - begun])
    dist.all_reduce(once, op=dist.ReduceOp.MAX)
    times = min(max(int(seconds / once.item()), 3), 2000)
    least = float("inf")
    for _ in range(times):
        begun = time.perf_counter()
        call()
        least = min(least, time.perf_counter() - begun)
    return least


def as_rank(path: str, each: float, rounds: int) -> None:
    """One process of a measurement; the first writes what it found."""
    import flambeau as torch
    import flambeau.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    seconds: dict[str, dict[str, float]] = {}
    steps = {}
    calls, trainings = list(_calls(torch, dist)), list(_trainings(torch))
    for _ in range(rounds):
        for name, size, call in calls:
            took = _least(call, dist, torch, each) / (2 if name == "broadcast" else 1)
            row = seconds.setdefault(name, {})
            row[str(size)] = min(took, row.get(str(size), took))
        for name, size, alone, both in trainings:
            row = steps.setdefault(name, {"bytes": size})
            for kind, call in ("alone", alone), ("ddp", both):
                took = _least(call, dist, torch, each)
                row[kind] = min(took, row.get(kind, took))
    if dist.get_rank() == 0:
        found = {"ranks": dist.get_world_size(), "seconds": seconds, "steps": steps}
        Path(path).write_text(json.dumps(found))
    dist.destroy_process_group()


def measure(
    program: Path, path: Path, each: float = SECONDS, rounds: int = ROUNDS, limit: float = 300
) -> dict:
    """Runs `program --rank FILE` on two processes, for `each` seconds of a row."""
    launch = [sys.executable, "-m", "flambeau.distributed.run", "--nproc-per-node", str(RANKS)]
    rank = [str(program), "--rank", str(path), "--seconds", str(each), "--rounds", str(rounds)]
    process = subprocess.Popen([*launch, *rank])
    try:
        if process.wait(limit):
            raise RuntimeError(f"the measuring processes failed with {process.returncode}")
    finally:
        process.terminate()
        process.wait(30)
    return json.loads(path.read_text())
