"""Matrix products beside NumPy and PyTorch on one thread: python gemm_bench.py PATH/TO/gemm_bench

Every row names the sizes, flambeau's time and rate, and how many times faster it is than the two
(out= given to both, so that no allocation is timed; in the thread's own time). What is not
installed is named and left out.
"""

import os
import subprocess
import sys
import time

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")


def best_time(call, seconds=0.1):
    call()
    calls = 1
    while True:
        start = time.thread_time()
        for _ in range(calls):
            call()
        if time.thread_time() - start > 0.005:
            break
        calls *= 2
    best, spent = 1e9, 0.0
    while spent < seconds:
        start = time.thread_time()
        for _ in range(calls):
            call()
        t = time.thread_time() - start
        best, spent = min(best, t / calls), spent + t
    return best


def numpy_time(layout, m, n, k):
    import numpy as np

    a = np.ones((k, m), np.float32).T if layout[0] == "T" else np.ones((m, k), np.float32)
    b = np.ones((n, k), np.float32).T if layout[1] == "T" else np.ones((k, n), np.float32)
    out = np.empty((m, n), np.float32)
    return best_time(lambda: np.matmul(a, b, out=out))


def torch_time(layout, m, n, k):
    import torch

    torch.set_num_threads(1)
    a = torch.ones(k, m).t() if layout[0] == "T" else torch.ones(m, k)
    b = torch.ones(n, k).t() if layout[1] == "T" else torch.ones(k, n)
    out = torch.empty(m, n)
    return best_time(lambda: torch.mm(a, b, out=out))


def main():
    others = {}
    for name, timer in (("numpy", numpy_time), ("torch", torch_time)):
        try:
            __import__(name)
            others[name] = timer
        except ImportError:
            print(f"{name} is not installed: no column for it")
    lines = subprocess.run([sys.argv[1], "1"], check=True, capture_output=True, text=True).stdout
    print(
        f"{'':4}{'m':>6}{'n':>6}{'k':>6}{'us':>12}{'GF/s':>8}"
        + "".join(f"{'vs ' + name:>12}" for name in others)
    )
    for line in lines.splitlines():
        _, layout, m, n, k, us, rate = line.split()
        m, n, k = int(m), int(n), int(k)
        ratios = (timer(layout, m, n, k) * 1e6 / float(us) for timer in others.values())
        print(
            f"{layout:4}{m:6}{n:6}{k:6}{float(us):12.3f}{float(rate):8.1f}"
            + "".join(f"{r:12.2f}" for r in ratios),
            flush=True,
        )


if __name__ == "__main__":
    main()
