"""Sums of short tensors, which Gloo's ranks send each other without asking: by whatever rank is
ahead, at every size around the longest, and what ranks get that give different lengths."""

import os
import random
import signal
import subprocess
import time

import pytest

from tests.dist import ranks

LONGEST = {2: 2 << 20, 3: 16 << 10, 9: 0}  # bytes that are sent without asking, by ranks


def sums(rank, size):
    import flambeau as torch

    dist = torch.distributed
    dist.init_process_group("gloo")
    dice = random.Random(rank)
    longest = LONGEST[size] // 4
    lengths = [1, 7, longest - 1, longest, longest + 1] if longest else [1, 4096]
    turns = 60 if size < 9 else 4
    for turn in range(turns):
        n = lengths[turn % len(lengths)]
        if dice.random() < 0.2:
            time.sleep(dice.random() * 0.01)
        x = torch.arange(n, dtype=torch.float32) + 1000 * rank + turn
        dist.all_reduce(x)
        if turn % 7 == 0:
            dist.barrier()
        first = sum(1000 * r + turn for r in range(size))
        assert x[0].item() == first and x[-1].item() == first + size * (n - 1), (turn, n)
    return True


@pytest.mark.parametrize("size", [2, 3, 9])
def test_whoever_is_ahead(size):
    assert ranks.values(sums, size) == [True] * size


def lengths_differ(rank, size):
    import datetime

    import flambeau as torch

    dist = torch.distributed
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=1.5))
    x = torch.ones(8 + rank)
    began = time.monotonic()
    with pytest.raises(dist.DistBackendError) as caught:
        dist.all_reduce(x)
    assert x.eq(1).all()
    return str(caught.value), time.monotonic() - began


def test_different_lengths_never_meet():
    for outcome in ranks.run(lengths_differ, 2):
        text, seconds = outcome.value
        assert "float32[8]" in text and "float32[9]" in text
        assert seconds < 3.5


def leaves_first(rank, size, call):
    import flambeau as torch

    dist = torch.distributed
    dist.init_process_group("gloo")
    processes = [None] * size
    dist.all_gather_object(processes, os.getpid())
    pair = dist.new_group([0, 1])
    x = torch.ones(1000)
    if rank == 1:
        time.sleep(0.3)
        os.kill(processes[0], signal.SIGSTOP)  # it waits, and does not see what happens now
    getattr(dist, call)(*([x] if call == "all_reduce" else []), group=pair)
    if rank == 1:
        dist.destroy_process_group(pair)
        subprocess.Popen(["sh", "-c", f"sleep 0.2; kill -CONT {processes[0]}"])
    dist.barrier()
    return x[0].item()


@pytest.mark.parametrize("call", ["all_reduce", "barrier"])
def test_what_came_is_there_though_its_sender_has_left(call):
    assert ranks.values(leaves_first, 2, call) == [1 + (call == "all_reduce")] * 2
