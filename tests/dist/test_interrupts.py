"""Ctrl-C ends waits for other ranks, and not what is waited for: of collectives, of transfers
between two, in the passes of DistributedDataParallel, and where no other rank comes at all."""

import contextlib
import os
import signal
import threading
import time
from pathlib import Path

import pytest

from tests.dist import ranks

SOON = 10  # seconds, of a machine that does other things too; every call may take half an hour


def interrupt_a_wait():
    """Sends the signal once the main thread has slept for a while: it waits then."""
    slept = 0
    while slept < 6:
        time.sleep(0.05)
        stat = Path(f"/proc/self/task/{os.getpid()}/stat").read_text()
        slept = slept + 1 if stat.rpartition(")")[2].split()[0] == "S" else 0
    os.kill(os.getpid(), signal.SIGINT)


@contextlib.contextmanager
def interrupts():
    """The block waits, until a signal comes."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=interrupt_a_wait, daemon=True).start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        yield
    assert time.monotonic() - began < SOON


def begin():
    """The package, and where a rank tells the other one that it is done with something."""
    import flambeau as torch

    dist = torch.distributed
    dist.init_process_group("gloo")
    store = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
    return torch, dist, store


def calls(rank, size):
    torch, dist, store = begin()
    x, y, got = torch.ones(1000), torch.ones(1000), torch.zeros(3)
    if rank == 0:
        with interrupts():
            dist.all_reduce(x)
        work = dist.broadcast(y, 0, async_op=True)
        for _ in range(2):
            with interrupts():
                work.wait()
        with interrupts():
            dist.recv(got, 1)
        with interrupts():
            dist.send(torch.arange(3.0), 1)
        assert got.tolist() == [0, 0, 0]
        store.set("called", "")
        later = torch.zeros(3)
        dist.recv(later, 1)
        assert later.tolist() == [2, 2, 2]
    else:
        store.wait(["called"])
        dist.all_reduce(x)
        dist.broadcast(y.zero_(), 0)
        for i in 1, 2:
            dist.send(torch.full((3,), float(i)), 0)
        dist.recv(got, 0)
    dist.barrier()
    assert x.tolist() == [2] * 1000 and y.tolist() == [1] * 1000
    assert got.tolist() == ([1, 1, 1] if rank == 0 else [0, 1, 2])
    with interrupts():  # nobody ever answers
        dist.recv(got, 1 - rank, tag=7)
    dist.destroy_process_group()


def test_a_wait_ends_and_not_what_is_waited_for():
    ranks.values(calls, 2)


def coupled(torch, options):
    nn = torch.nn
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
    return nn.parallel.DistributedDataParallel(model, **options)


OVER = "the last pass ended by an error"


def forwards(rank, size, behind):
    """An interrupt in the forward that sends buffers of two dtypes, or agrees on the buckets."""
    torch, dist, store = begin()
    ddp, x = coupled(torch, {}), torch.ones(2, 3)
    for _ in range(behind):
        ddp(x).sum().backward()
    if rank == 1:  # which gets what rank 0 has
        with interrupts():
            ddp(x)
        with pytest.raises(RuntimeError, match=OVER):
            ddp(x)
        store.set("forward", "")
    else:
        store.wait(["forward"])
    dist.destroy_process_group()


@pytest.mark.parametrize("behind", [0, 1])
def test_a_forward_ends_and_the_next_one_says_so(behind):
    ranks.values(forwards, 2, behind)


def passes(rank, size, options):
    torch, dist, store = begin()
    ddp, x = coupled(torch, options), torch.ones(2, 3)
    loss = ddp(x).sum()
    if rank == 0:
        with interrupts():
            loss.backward()
        with pytest.raises(RuntimeError, match=OVER):
            ddp(x)
        store.set("backward", "")
        if not options:  # the gradients of this rank still go to the other
            store.wait(["reduced"])
        dist.destroy_process_group()
        return
    store.wait(["backward"])
    if options:  # rank 0 has not come to what follows its gradients
        with pytest.raises(dist.DistError, match="rank 0 .*has left the job"):
            loss.backward()
    else:
        loss.backward()
        assert ddp.module[-1].bias.grad.item() == 2
        store.set("reduced", "")
    dist.destroy_process_group()


@pytest.mark.parametrize("options", [{}, {"find_unused_parameters": True}])
def test_a_pass_of_data_parallel_training_ends(options):
    ranks.values(passes, 2, options)


def alone(rank, size):
    import flambeau as torch

    if rank == 1:
        return
    with interrupts():
        torch.distributed.init_process_group("gloo")
    assert not torch.distributed.is_initialized()


def test_the_wait_for_other_ranks_to_come_ends():
    ranks.values(alone, 2)
