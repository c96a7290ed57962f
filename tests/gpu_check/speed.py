"""How fast kernels are beside PyTorch's on the GPU that is there: each family's time, the ratio of
both, and its share of what the GPU can do, which the better library's large copy and large products
show. Prints a line of JSON for each; figures are to read and fail nothing. Without a PyTorch there
are no ratios. `--beside cpu` is a rehearsal with PyTorch on the cpu, in small.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from families import families

ROOT = Path(__file__).resolve().parents[2]
LARGE = 1 << 26  # elements


class At:
    """A library and the device that it works on here."""

    def __init__(self, library, device):
        self.library, self.device = library, device

    def __getattr__(self, name):
        return getattr(self.library, name)

    def wait(self):
        if self.device == "cuda":
            self.library.cuda.synchronize()


def microseconds(m, make, times=10, rounds=5):
    """Of one call, by the device's own events (the cpu's clock); the least of some rounds."""
    run = make(m)
    run()
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        events = [m.cuda.Event(enable_timing=True) for _ in range(2) if m.device == "cuda"]
        for event in events[:1]:
            event.record()
        for _ in range(times):
            run()
        for event in events[1:]:
            event.record()
            event.synchronize()
        passed = events[0].elapsed_time(events[1]) / 1e3 if events else time.perf_counter() - start
        best = min(best, 1e6 * passed / times)
    del run
    if m.device == "cuda":
        m.cuda.empty_cache()
    return best


def training_step(m, steps=200):
    """Microseconds of one step of the 16-64-1 perceptron by the host's clock: batch 64, Adam."""
    nn = m.nn
    model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1)).to(m.device)
    optimizer = m.optim.Adam(model.parameters(), lr=1e-3)
    x, y = m.randn(64, 16, device=m.device), m.randn(64, 1, device=m.device)
    best = float("inf")
    for _ in range(5):
        m.wait()
        start = time.perf_counter()
        for _ in range(steps):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
        m.wait()
        best = min(best, (time.perf_counter() - start) / steps * 1e6)
    return best


def row(name, times):
    """Of ours and, where it was there, PyTorch's."""
    ratio = round(times[0] / times[1], 3) if len(times) > 1 else None
    named = dict(zip(("flambeau_us", "torch_us"), (round(t, 2) for t in times), strict=False))
    return {"name": name} | named | {"ratio": ratio}


def measured(ours, theirs=None, n=LARGE, k=4096, beside="cuda", **how):
    """A row for each family, and for the training step."""
    libraries = [At(ours, "cuda")] + ([At(theirs, beside)] if theirs else [])
    found = [(f, [microseconds(m, f.work, **how) for m in libraries]) for f in families(n, k)]
    most = {f.name: (f.moved or f.flops) / min(times) for f, times in found}
    for f, times in found:
        share = (f.moved or f.flops) / most[f.ceiling] / times[0]
        more = {"of_the_ceiling": round(share, 3)}
        if f.name == f.ceiling:
            rate = most[f.name]
            more["ceiling"] = f"{rate / 1e3:.0f} GB/s" if f.moved else f"{rate / 1e6:.1f} TF/s"
        yield row(f.name, times) | more
    steps = 200 if beside == "cuda" else 2
    yield row("training step", [training_step(m, steps) for m in libraries])


def libraries(beside):
    """flambeau, and PyTorch or none."""
    sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
    from parts import pytorch

    if pytorch()[1]:
        import flambeau

        return flambeau, None
    from tests.torch import run

    return run.load(standin=beside == "cpu")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--beside", default="cuda")
    beside = parser.parse_args().beside
    small = {"n": 1 << 13, "k": 32, "times": 1, "rounds": 1} if beside != "cuda" else {}
    flambeau, torch = libraries(beside)
    if torch:
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    ratios = []
    for found in measured(flambeau, torch, beside=beside, **small):
        print(json.dumps(found), flush=True)
        ratios.append(found["ratio"])
    if beside != "cuda":
        print(f"{len(ratios)} families passed by; a rehearsal: these are no times of a GPU")
    elif torch:
        middle = sorted(ratios)[len(ratios) // 2]
        print(f"{len(ratios)} families passed by; in the middle {middle:.2f} of PyTorch's time")
    else:
        print(f"{len(ratios)} families passed by; no ratios, as there is no PyTorch")
    return 0


if __name__ == "__main__":
    sys.exit(main())
