"""Convolutions beside PyTorch on one thread: python conv_bench.py PATH/TO/conv_bench

Every row names the sizes, flambeau's time and rate, and how many times faster it is than PyTorch,
whose results are allocated in the call. The gradients are timed through
torch.ops.aten.convolution_backward. Where PyTorch is not installed its column is left out.
"""

import importlib.util
import os
import subprocess
import sys

os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

from gemm_bench import best_time


def torch_time(kind, n, c, h, o, kernel, stride, groups):
    import torch

    torch.set_num_threads(1)
    x, w, bias = torch.ones(n, c, h, h), torch.ones(o, c // groups, kernel, kernel), torch.ones(o)
    s, p, d = [stride] * 2, [kernel // 2] * 2, [1, 1]
    if kind == "forward":
        return best_time(lambda: torch.conv2d(x, w, bias, s, p, d, groups))
    y = torch.conv2d(x, w, bias, s, p, d, groups)
    mask = [kind == "data", kind == "weight", False]
    backward = torch.ops.aten.convolution_backward
    return best_time(lambda: backward(y, x, w, None, s, p, d, False, [0, 0], groups, mask))


def main():
    lines = subprocess.run([sys.argv[1], "1"], check=True, capture_output=True, text=True).stdout
    beside = importlib.util.find_spec("torch") is not None
    if not beside:
        print("torch is not installed: no column for it")
    print(
        f"{'':8}"
        + "".join(f"{name:>7}" for name in ("n", "c", "h", "o", "kernel", "stride", "groups"))
        + f"{'us':>12}{'GF/s':>8}"
        + f"{'vs torch':>10}" * beside
    )
    for line in lines.splitlines():
        _, kind, *sizes, us, rate = line.split()
        ratio = torch_time(kind, *map(int, sizes)) * 1e6 / float(us) if beside else 0.0
        print(
            f"{kind:8}"
            + "".join(f"{s:>7}" for s in sizes)
            + f"{float(us):12.1f}{float(rate):8.1f}"
            + f"{ratio:10.2f}" * beside,
            flush=True,
        )


if __name__ == "__main__":
    main()
