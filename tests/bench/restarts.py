"""A training of two ranks, one of which is killed at any time, under the launcher with one restart:
whether its losses are those of a training that nothing happened to, bit for bit. Exits with 1 where
they are not. The time at which it is killed is the processor's, which that training's was, too: by
the clock's, a machine that has other work would have ended most of them, or begun few.

    python tests/bench/restarts.py --rounds 20"""

import argparse
import collections
import concurrent.futures
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
for path in (ROOT, ROOT / "bindings" / "python"):
    if str(path) not in sys.path:
        sys.path.insert(0, str(path))


def rank(victim, delay, folder):
    """One process of the job."""
    from tests.dist.test_resume_ranks import train

    own, attempt = int(os.environ["RANK"]), int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    if attempt == 0 and own == int(victim):
        signal.setitimer(signal.ITIMER_PROF, float(delay))  # what it does is to end the process
    began = time.process_time()
    found = train(own, int(os.environ["WORLD_SIZE"]), f"{folder}/snapshots")
    seconds = time.process_time() - began
    Path(folder, f"{own}.json").write_text(json.dumps([attempt, *found, seconds]))


def job(victim, delay, folder):
    """What each rank had at the end: which start it was, the step at which that began, the losses
    since, and how many seconds of a processor it took."""
    launcher = "-m flambeau.distributed.run --standalone --nproc-per-node 2 --max-restarts 1"
    given = [__file__, "--rank", str(victim), str(delay), folder]
    done = subprocess.run(
        [sys.executable, *launcher.split(), *given],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "FLAMBEAU_NUM_THREADS": "1"},
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    if done.returncode:
        print(done.stderr, file=sys.stderr)
        return None
    return [json.loads(Path(folder, f"{r}.json").read_text()) for r in range(2)]


def compared(number, whole, base):
    """How a round ended, in words."""
    draw = random.Random(number)
    found = job(number % 2, draw.uniform(0.0, whole[0][-1]), tempfile.mkdtemp(dir=base))
    if found is None:
        return "wrong: the job failed"
    for (attempt, begun, losses, _), (_, _, all_losses, _) in zip(found, whole):
        if losses != {k: v for k, v in all_losses.items() if int(k) >= begun}:
            return f"wrong: other losses from step {begun} on"
    if not attempt:
        return "ended before it was killed"
    return "went on from a snapshot" if begun else "began anew: no snapshot was there yet"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--rank", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.rank:
        return rank(*given.rank)
    with tempfile.TemporaryDirectory() as base:
        whole = job(-1, 0, tempfile.mkdtemp(dir=base))
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            rounds = range(given.rounds)
            found = collections.Counter(pool.map(lambda n: compared(n, whole, base), rounds))
    for words, n in found.most_common():
        print(f"{n} x {words}")
    return sys.exit(any(words.startswith("wrong") for words in found))


if __name__ == "__main__":
    main()
