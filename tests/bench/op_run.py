"""The rows of op_rows.py in one process:
python op_run.py flambeau|torch THREADS CLOCK SECONDS WORDS

Prints a line of JSON for each row: its name and the least seconds of a call, over batches of at
least a millisecond. CLOCK is `own`, the process' time, for one thread beside other processes, or
`wall`. A row that the package cannot run has its error instead of a time.
"""

from __future__ import annotations

import importlib
import json
import sys
import time

from op_rows import ROWS


def least(call, seconds, now):
    """The least time of a call: a neighbour on the machine disturbs the fastest batch least."""
    call()
    calls, best, spent = 1, float("inf"), 0.0
    while spent < seconds or best == float("inf"):
        start = now()
        for _ in range(calls):
            call()
        taken = now() - start
        spent += taken
        if taken < 1e-3 and spent < seconds:
            calls *= 2
            continue
        best = min(best, taken / calls)
    return best


def main():
    package, threads, clock, seconds, words = sys.argv[1:6]
    torch = importlib.import_module(package)
    torch.set_num_threads(int(threads))
    now = time.process_time if clock == "own" else time.perf_counter
    for name, row in ROWS.items():
        if words and not any(word in name.lower() for word in words.lower().split("|")):
            continue
        torch.manual_seed(0)
        found = {"name": name}
        try:
            with torch.no_grad():
                found["seconds"] = least(row.make(torch), float(seconds), now)
        except Exception as e:  # the table says what a package refused
            found["error"] = f"{type(e).__name__}: {e}".splitlines()[0]
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
