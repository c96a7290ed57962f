"""flambeau's CUDA results beside PyTorch's on the same inputs: values and gradients, each against
float64, and the time of a training step. A row fails where flambeau is further from float64 than
the bound and than twice PyTorch's distance.
"""

from __future__ import annotations

import json
import sys
import time

import flambeau
import numpy as np
import torch

BOUND = 2e-5  # of the largest magnitude, for float32; matrix products on both sides without tf32


def operations():
    """name, shapes of the inputs, and the operation in the spelling that both libraries share."""
    F = "nn.functional"
    return [
        ("add", [(257, 1025), (1025,)], lambda m, x, y: x + y),
        ("mul", [(257, 1025), (257, 1)], lambda m, x, y: x * y),
        ("matmul", [(300, 200), (200, 100)], lambda m, x, y: x @ y),
        ("linear", [(64, 200), (100, 200), (100,)], lambda m, *a: reach(m, F).linear(*a)),
        ("relu", [(1000, 33)], lambda m, x: x.relu()),
        ("gelu", [(1000, 33)], lambda m, x: reach(m, F).gelu(x)),
        ("sigmoid", [(1000, 33)], lambda m, x: x.sigmoid()),
        ("softmax", [(300, 1025)], lambda m, x: x.softmax(-1)),
        ("log_softmax", [(300, 1025)], lambda m, x: x.log_softmax(-1)),
        ("sum", [(300, 4097)], lambda m, x: x.sum(1)),
        ("mean", [(300, 4097)], lambda m, x: x.mean(0)),
        ("mse_loss", [(512, 64), (512, 64)], lambda m, *a: reach(m, F).mse_loss(*a)),
        ("conv2d", [(8, 16, 28, 28), (32, 16, 3, 3), (32,)], convolution),
    ]


def convolution(m, x, w, b):
    return m.nn.functional.conv2d(x, w, b, padding=1)


def reach(module, path):
    for name in path.split("."):
        module = getattr(module, name)
    return module


def results(module, arrays, operation, device, dtype):
    inputs = [module.tensor(a.tolist(), dtype=dtype, device=device) for a in arrays]
    for x in inputs:
        x.requires_grad_(True)
    y = operation(module, *inputs)
    (y * y).sum().backward()
    tensors = [y.detach(), *(x.grad for x in inputs)]
    return [t.cpu().numpy().astype(np.float64) for t in tensors]


def distance(found, exact):
    largest = max(np.abs(exact).max(), 1e-30)
    return float(np.abs(found - exact).max() / largest)


def compare(name, shapes, operation, random):
    arrays = [random.standard_normal(shape).astype(np.float32) for shape in shapes]
    exact = results(torch, arrays, operation, "cpu", torch.float64)
    theirs = results(torch, arrays, operation, "cuda", torch.float32)
    ours = results(flambeau, arrays, operation, "cuda", flambeau.float32)
    far = max(map(distance, ours, exact))
    torch_far = max(map(distance, theirs, exact))
    ok = far <= max(BOUND, 2 * torch_far) and all(np.isfinite(a).all() for a in ours)
    return {"name": name, "ok": ok, "error": far, "torch_error": torch_far}


def training_step(module, steps=200):
    """Microseconds of one step of the 16-64-1 perceptron: batch 64, MSE, Adam."""
    module.manual_seed(0)
    nn = module.nn
    model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1)).to("cuda")
    optimizer = module.optim.Adam(model.parameters(), lr=1e-3)
    x, y = module.randn(64, 16, device="cuda"), module.randn(64, 1, device="cuda")
    times = []
    for _ in range(5):
        module.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(steps):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
        module.cuda.synchronize()
        times.append((time.perf_counter() - start) / steps * 1e6)
    return min(times)


def main() -> int:
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    random = np.random.default_rng(0)
    rows = [compare(*row, random) for row in operations()]
    step = {"flambeau_us": training_step(flambeau), "torch_us": training_step(torch)}
    for row in rows:
        print(json.dumps(row))
    print(json.dumps({"name": "training step"} | {k: round(v, 1) for k, v in step.items()}))
    good = sum(row["ok"] for row in rows)
    print(
        f"{good} of {len(rows)} operations passed beside PyTorch {torch.__version__}; "
        f"step {step['flambeau_us']:.0f} us, PyTorch {step['torch_us']:.0f} us"
    )
    return 0 if good == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
