"""A step of data parallel training by two processes over Gloo, beside PyTorch's: the digits MLP and
a small CNN, with gradients reduced, an SGD step and losses. The two engines alternate; ratios are
PyTorch's time over ours, of the steps' medians and of the least steps, which others on the machine
disturb less.

PyTorch is that of the interpreter named by FLAMBEAU_BENCH_TORCH; without one, ours alone is
shown."""

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RANKS, ROUNDS, STEPS = 2, 3, {"mlp": 500, "cnn": 40}


def models(nn):
    """The digits example's MLP, and a CNN of half a million parameters."""
    mlp = nn.Flatten(), nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10)
    cnn = (
        *(nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(64 * 7 * 7, 128), nn.ReLU(), nn.Linear(128, 10)),
    )
    return {"mlp": (nn.Sequential(*mlp), 8), "cnn": (nn.Sequential(*cnn), 28)}


def rank(engine):
    """One process: the least and the median seconds of a step of each model, of rank 0 on its
    standard output."""
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
    times = {}
    for name, (model, side) in models(torch.nn).items():
        ddp = torch.nn.parallel.DistributedDataParallel(model)
        optimizer = torch.optim.SGD(ddp.parameters(), lr=0.01)
        x, y = torch.randn(64, 1, side, side), torch.randint(0, 10, (64,))
        seconds = []
        for _ in range(STEPS[name] + 10):
            begun = time.perf_counter()
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(ddp(x), y).backward()
            optimizer.step()
            seconds.append(time.perf_counter() - begun)
        times[name] = min(seconds[10:]), statistics.median(seconds[10:])
    dist.barrier()
    if dist.get_rank() == 0:
        print(json.dumps(times), flush=True)
    dist.destroy_process_group()


def measure(engine, python):
    """The times of one run."""
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    common = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(RANKS)}
    common |= {"OMP_NUM_THREADS": "1", "FLAMBEAU_NUM_THREADS": "1"}
    command = [python, __file__, engine]
    started = [
        subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env=os.environ | common | {"RANK": str(r)}
        )
        for r in range(RANKS)
    ]
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
    for name in STEPS:
        for which, (pick, what) in enumerate({min: "least", statistics.median: "median"}.items()):
            times = {e: pick(run[name][which] for run in runs) for e, runs in found.items()}
            text = ", ".join(f"{e} {1e6 * s:.0f} us" for e, s in times.items())
            ratio = f", ratio {times['torch'] / times['flambeau']:.2f}" if torch else ""
            print(f"DDP step, {RANKS} processes, {name}, {what}: {text}{ratio}")


if __name__ == "__main__":
    rank(sys.argv[1]) if len(sys.argv) > 1 else main()
