"""Two processes over Gloo, beside PyTorch's: collectives, and steps of data parallel and sharded
training. The two engines alternate; a ratio is PyTorch's time over ours, of the least of all calls,
which others on the machine disturb least, and of the medians of the rounds.

PyTorch is that of the interpreter named by FLAMBEAU_BENCH_TORCH; without one, ours alone is
shown."""

import json
import os
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path

import dist_rows

ROOT = Path(__file__).resolve().parents[2]
RANKS, ROUNDS, SECONDS = 2, 3, 1.0  # of each row in each round


def timed(call, dist, torch):
    """The least and the median seconds of a call, made as often by all ranks."""
    for _ in range(3):
        call()
    begun = time.perf_counter()
    call()
    times = torch.tensor([SECONDS / max(time.perf_counter() - begun, 1e-5)])
    dist.all_reduce(times, op=dist.ReduceOp.MIN)
    seconds = []
    for _ in range(min(max(int(times.item()), 5), 2000)):
        begun = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - begun)
    return min(seconds), statistics.median(seconds)


def rank(engine):
    """One process; the first prints what each row took."""
    if engine == "flambeau":
        sys.path.insert(0, str(ROOT / "bindings/python"))
        import flambeau as torch
        import flambeau.distributed as dist
    else:
        import torch
        import torch.distributed as dist
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    rows = [*dist_rows.collectives(torch, dist), *dist_rows.trainings(torch)]
    times = {name: timed(call, dist, torch) for name, call in rows}
    dist.barrier()
    if dist.get_rank() == 0:
        print(json.dumps(times), flush=True)
    dist.destroy_process_group()


def measure(engine, python):
    """The times of one run."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    common = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(RANKS)}
    common |= {"OMP_NUM_THREADS": "1", "FLAMBEAU_NUM_THREADS": "1"}
    started = [
        subprocess.Popen(
            [python, __file__, engine], stdout=subprocess.PIPE, text=True,
            env=os.environ | common | {"RANK": str(r)},
        )
        for r in range(RANKS)
    ]  # fmt: skip
    try:
        return json.loads([process.communicate(timeout=300)[0] for process in started][0])
    finally:
        for process in started:
            process.kill()


def main():
    torch = os.environ.get("FLAMBEAU_BENCH_TORCH")
    engines = {"flambeau": sys.executable} | ({"torch": torch} if torch else {})
    found = {engine: [] for engine in engines}
    for _ in range(ROUNDS):
        for engine, python in engines.items():
            found[engine].append(measure(engine, python))
    print(f"{'two processes over Gloo':32}{'least':>12}{'median':>12}   PyTorch's over ours")
    for name in found["flambeau"][0]:
        of = {
            e: (min(r[name][0] for r in runs), statistics.median(r[name][1] for r in runs))
            for e, runs in found.items()
        }
        least, median = of["flambeau"]
        line = f"{name:32}{1e6 * least:9.0f} us{1e6 * median:9.0f} us"
        if torch:
            line += f"   {of['torch'][0] / least:.2f}, {of['torch'][1] / median:.2f}"
        print(line, flush=True)


if __name__ == "__main__":
    rank(sys.argv[1]) if len(sys.argv) > 1 else main()
