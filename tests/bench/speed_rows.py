"""The rows of speed.c in Python, of the package named: python speed_rows.py flambeau|torch|numpy
[seconds per row]. flambeau and PyTorch run the same lines.
"""

from __future__ import annotations

import importlib
import statistics
import sys
import time


def row(name, call, seconds):
    """Prints the median of batches of about a millisecond of this thread's own time."""

    def batch(calls):
        start = time.thread_time()
        for _ in range(calls):
            call()
        return time.thread_time() - start

    calls, batches, spent = 1, [], 0.0
    while batch(calls) < 1e-3:
        calls *= 2
    while spent < seconds:
        batches.append(batch(calls))
        spent += batches[-1]
    print(f"{name}: {statistics.median(batches) / calls * 1e9:.1f}", flush=True)


def mlp(torch, **options):
    nn = torch.nn
    model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1))
    loss_function = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, **options)
    x, y = torch.randn(64, 16), torch.randn(64, 1)

    def step():
        optimizer.zero_grad()
        loss = loss_function(model(x), y)
        loss.backward()
        optimizer.step()

    return step


def main():
    name = sys.argv[1]
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 0.5
    package = importlib.import_module(name)
    if name == "numpy":
        a, b = package.ones(1, package.float32), package.ones(1, package.float32)
        row("add", lambda: package.add(a, b), seconds)
        return
    package.set_num_threads(1)
    a, b = package.ones(1), package.ones(1)
    row("add", lambda: package.add(a, b), seconds)
    a.requires_grad_()
    row("add, autograd", lambda: package.add(a, b), seconds)
    row("MLP step", mlp(package), seconds)
    row("MLP step, fused", mlp(package, fused=True), seconds)


if __name__ == "__main__":
    main()
