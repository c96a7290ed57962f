"""Ranks that leave while others are not done: whoever has done its part of the last call may go,
and who comes to that call late still finds what was sent."""

import os
import signal
import sys
import time

import pytest

from tests.dist import ranks


def last_call_is_late(rank, size):
    import flambeau as torch

    dist = torch.distributed
    dist.init_process_group("gloo")
    small, large = torch.full((8,), float(rank)), torch.full((1 << 16,), float(rank))
    if rank:
        time.sleep(1.0)  # the others' goodbye has been heard
    dist.broadcast(small, 0)
    dist.broadcast(large, 0)
    if rank == 0:
        dist.send(small + 5, 1)
    if rank == 1:
        dist.recv(small, 0)
    dist.destroy_process_group()
    return [small[0].item(), large[-1].item()]


def test_what_a_rank_sent_before_it_left_arrives():
    assert ranks.values(last_call_is_late, 3) == [[0, 0], [5, 0], [0, 0]]


def made_again(rank, size):
    import flambeau as torch

    dist = torch.distributed
    found = []
    for turn in range(3):
        dist.init_process_group("gloo")
        pending = dist.irecv(torch.zeros(2), 1 - rank)  # never answered, and in nobody's way
        x = torch.tensor([turn + rank])
        dist.all_reduce(x)
        found.append(x.item())
        dist.destroy_process_group()
        del pending
    return found


def test_a_group_can_be_made_again_over_one_store():
    assert ranks.values(made_again, 2) == [[1, 3, 5]] * 2


def forks(rank, size, then):
    """What a forked child's own calls came to, and whether the parent's group went on."""
    import flambeau as torch

    dist = torch.distributed
    dist.init_process_group("gloo")
    x = torch.ones(4)
    dist.all_reduce(x, async_op=True).wait()
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        if then == "calls":
            with pytest.raises(RuntimeError, match="stayed in the process that was forked"):
                dist.all_reduce(x, async_op=True)
            dist.destroy_process_group()
        sys.exit(7)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    dist.all_reduce(x)
    dist.destroy_process_group()
    return [status, x[0].item()]


@pytest.mark.parametrize("then", ["exits", "calls"])
def test_a_forked_child_ends_and_its_parent_goes_on(then):
    assert ranks.values(forks, 2, then) == [[7, 4]] * 2
