"""One workload in a process of its own: python workload_run.py flambeau|torch NAME SECONDS

Prints JSON: a step's seconds of this process' own time and of the clock, each the median over the
steps, and the peak of memory in bytes: what the process grew by, without the pages of files, which
are code that ran for the first time; and what flambeau's allocator held. A first step is not timed:
it makes what later steps find.
"""

from __future__ import annotations

import importlib
import json
import statistics
import sys
import time
from pathlib import Path

from workloads import WORKLOADS

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def pages():
    """The largest size that this process had in memory and what of its size now is files, or None
    where the system does not tell."""
    try:
        lines = STATUS.read_text().splitlines()
    except OSError:
        return None
    kib = {line.split(":")[0]: int(line.split()[1]) for line in lines if line.endswith(" kB")}
    if not {"VmHWM", "RssFile"} <= kib.keys():
        return None
    return kib["VmHWM"] * 1024, kib["RssFile"] * 1024


def growth(before, after):
    """Of the peak, in bytes. Pages of files stay, so that all that came until now were at it."""
    if before is None or after is None:
        return None
    return (after[0] - before[0]) - (after[1] - before[1])


def timed(step, seconds):
    """Medians of batches of at least 2 ms: clocks are read seldom beside small steps."""
    calls, own, wall = 1, [], []
    while sum(wall) < seconds or len(wall) < 5:
        starts = time.process_time(), time.perf_counter()
        for _ in range(calls):
            step()
        spent = time.process_time() - starts[0], time.perf_counter() - starts[1]
        if spent[1] < 2e-3 and not own:
            calls *= 2
            continue
        own.append(spent[0] / calls)
        wall.append(spent[1])
    return statistics.median(own), statistics.median(wall) / calls


def warm(torch):
    """What a first use costs once belongs to no workload: modules imported late, threads."""
    x = torch.randn(8, 8, requires_grad=True)
    torch.mm(x, x).sum().backward()
    torch.optim.Adam([x]).step()


def main():
    package, name, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
    torch = importlib.import_module(package)
    importlib.import_module(f"{package}.utils.data")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    warm(torch)
    try:
        CLEAR.write_text("5")
    except OSError:
        pass
    before = pages()
    step = WORKLOADS[name].make(torch)
    step()
    cpu, wall = timed(step, seconds)
    grown = growth(before, pages())
    held = None
    if package == "flambeau":
        held = torch.accelerator.memory_stats("cpu")["reserved_bytes.all.peak"]
    print(json.dumps({"cpu": cpu, "wall": wall, "grown": grown, "held": held}))


if __name__ == "__main__":
    main()
