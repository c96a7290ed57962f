"""How fast kernels are beside PyTorch's on the GPU that is there: each family's time, the ratio of
both, and its share of what the GPU can do, which a large copy and a large product of halves by
PyTorch show. Prints a line of JSON for each; figures are to read and fail nothing. `--beside cpu`
is a rehearsal with PyTorch on the cpu, in small.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import dataclass

LARGE = 1 << 26  # elements


@dataclass
class Family:
    name: str
    work: object  # makes, in a library, what is timed
    moved: int = 0  # bytes that have to be read and written
    flops: int = 0


def families(n, k):
    """Of about n elements, and products of k x k matrices."""
    rows, sequence = n // 1024, k // 4
    heads = (8, 16, sequence, 64)
    image = 2 * (n // 2048 // 3136 + 1)
    return [
        Family("copy", two(n, "float32", lambda m, x, y: y.copy_(x)), moved=8 * n),
        Family("add f32", two(n, "float32", lambda m, x, y: x + y), moved=12 * n),
        Family("add bf16", two(n, "bfloat16", lambda m, x, y: x + y), moved=6 * n),
        Family("gelu bf16", two(n, "bfloat16", lambda m, x, y: call(m).gelu(x)), moved=4 * n),
        Family("sum f32", two(n, "float32", lambda m, x, y: x.sum()), moved=4 * n),
        Family("softmax f32", grid(rows, lambda m, x: x.softmax(-1)), moved=8 * n),
        Family("layer_norm f32", grid(rows, lambda m, x: call(m).layer_norm(x, (1024,))), 8 * n),
        Family("transpose f32", grid(rows, lambda m, x: x.t().contiguous()), moved=8 * n),
        Family("adam f32", adam(n // 4), moved=7 * n),
        Family("matmul f32", square(k, "float32"), flops=2 * k**3),
        Family("matmul bf16", square(k, "bfloat16"), flops=2 * k**3),
        Family("conv2d bf16", conv(image), flops=2 * image * 64 * 64 * 9 * 3136),
        Family("attention bf16", attend(heads), flops=4 * 8 * 16 * sequence**2 * 64),
    ]


class At:
    """A library and the device that it works on here."""

    def __init__(self, library, device):
        self.library, self.device = library, device

    def __getattr__(self, name):
        return getattr(self.library, name)

    def wait(self):
        if self.device == "cuda":
            self.library.cuda.synchronize()


def call(m):
    return m.nn.functional


def drawn(m, size, dtype):
    return m.rand(size, device=m.device, dtype=m.float32).to(getattr(m, dtype))


def two(n, dtype, f):
    def make(m):
        x, y = drawn(m, (n,), dtype), drawn(m, (n,), dtype)
        return lambda: f(m, x, y)

    return make


def grid(rows, f):
    def make(m):
        x = drawn(m, (rows, 1024), "float32")
        return lambda: f(m, x)

    return make


def square(k, dtype):
    def make(m):
        a, b = drawn(m, (k, k), dtype), drawn(m, (k, k), dtype)
        return lambda: a @ b

    return make


def conv(image):
    def make(m):
        x, w = drawn(m, (image, 64, 56, 56), "bfloat16"), drawn(m, (64, 64, 3, 3), "bfloat16")
        return lambda: call(m).conv2d(x, w, padding=1)

    return make


def attend(heads):
    def make(m):
        q, k, v = (drawn(m, heads, "bfloat16") for _ in range(3))
        return lambda: call(m).scaled_dot_product_attention(q, k, v)

    return make


def adam(n):
    def make(m):
        parameter = drawn(m, (n,), "float32").requires_grad_()
        parameter.grad = drawn(m, (n,), "float32")
        return m.optim.Adam([parameter]).step

    return make


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


def measured(ours, theirs, n=LARGE, k=4096, beside="cuda", **how):
    """A row for each family, and for the training step."""
    ours, theirs = At(ours, "cuda"), At(theirs, beside)
    found = [(f, *(microseconds(m, f.work, **how) for m in (ours, theirs))) for f in families(n, k)]
    copied = max(f.moved / their for f, _, their in found if f.name == "copy")
    multiplied = max(f.flops / their for f, _, their in found if f.name == "matmul bf16")
    for f, our, their in found:
        row = {"name": f.name, "flambeau_us": round(our, 2), "torch_us": round(their, 2)}
        row["ratio"] = round(our / their, 3)
        row["of_the_ceiling"] = round((f.moved / copied or f.flops / multiplied) / our, 3)
        if f.name in ("copy", "matmul bf16"):
            row["ceiling"] = (
                f"{copied / 1e3:.0f} GB/s" if f.moved else f"{multiplied / 1e6:.0f} TF/s"
            )
        yield row
    steps = 200 if beside == "cuda" else 2
    our, their = training_step(ours, steps), training_step(theirs, steps)
    yield {
        "name": "training step",
        "flambeau_us": round(our, 1),
        "torch_us": round(their, 1),
        "ratio": round(our / their, 3),
    }


def main() -> int:
    import flambeau
    import torch

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--beside", default="cuda")
    beside = parser.parse_args().beside
    small = {"n": 1 << 13, "k": 32, "times": 1, "rounds": 1} if beside != "cuda" else {}
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    ratios = []
    for row in measured(flambeau, torch, beside=beside, **small):
        print(json.dumps(row), flush=True)
        ratios.append(row["ratio"])
    middle = sorted(ratios)[len(ratios) // 2]
    print(f"{len(ratios)} families passed by; in the middle {middle:.2f} of PyTorch's time")
    return 0


if __name__ == "__main__":
    sys.exit(main())
