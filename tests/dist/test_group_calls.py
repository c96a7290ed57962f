"""Collectives as methods of a process group, with lists of tensors and with options as objects, on
two ranks; and who the default group is."""

import functools

from tests.dist import ranks
from tests.dist.sharding import message


def said(kind, **options):
    made = kind()
    for name, value in options.items():
        assert hasattr(made, name)
        setattr(made, name, value)
    return made


def methods(torch, rank, dist):
    """What each method leaves on this rank, by tensors, by lists, and by options."""
    import datetime

    group, ones = dist.group.WORLD, torch.ones
    mine, limit = ones(2) * (rank + 1), datetime.timedelta(seconds=20)
    largest = dist.ReduceOp.MAX
    root = {"rootRank": 1, "timeout": limit}

    def after(result, call):
        call(result).wait()
        return [part.tolist() for part in result] if isinstance(result, list) else result.tolist()

    def two():
        return [ones(2), ones(2)]

    def pair(x):
        return group.send([mine], 1, 3) if rank == 0 else group.recv([x], 0, 3)

    def anybody(x):
        return group.send([mine], 0, 4) if rank else group.recv_anysource([x], 4)

    def gathered(x, *options):
        return group.gather([x] if rank == 1 else [], [mine], *options)

    reduced = said(dist.AllreduceOptions, reduceOp=largest, timeout=limit)
    scattered = said(dist.ScatterOptions, **root)
    parts = [mine, mine * 10]
    found = {
        "allreduce": [
            after(mine.clone(), group.allreduce),
            after(mine.clone(), lambda x: group.allreduce([x], largest)),
            after(mine.clone(), lambda x: group.allreduce([x], reduced)),
            after([mine.clone(), ones(2)], group.allreduce_coalesced),
        ],
        "broadcast": [
            after(mine.clone(), lambda x: group.broadcast(x, 1)),
            after(mine.clone(), lambda x: group.broadcast([x], said(dist.BroadcastOptions))),
            after(mine.clone(), lambda x: group.broadcast(x, said(dist.BroadcastOptions, **root))),
        ],
        "reduce": [
            after(mine.clone(), lambda x: group.reduce(x, 1, largest, limit))[:: rank or 2],
            after(mine.clone(), lambda x: group.reduce([x], said(dist.ReduceOptions, **root)))[
                :: rank or 2
            ],
        ],
        "allgather": [
            after(two(), lambda x: group.allgather(x, mine)),
            after(two(), lambda x: group.allgather([x], [mine], limit)),
            after(ones(4), lambda x: group._allgather_base(x, mine)),
        ],
        "gather": [
            after(two(), lambda x: gathered(x, said(dist.GatherOptions, **root))),
            after(two(), lambda x: group.gather(x if rank == 1 else [], mine, 1)),
        ],
        "scatter": [
            after(ones(2), lambda x: group.scatter([x], [parts] if rank == 1 else [], scattered)),
            after(ones(2), lambda x: group.scatter(x, parts if rank == 0 else [], 0)),
        ],
        "reduce_scatter": [
            after(ones(2), lambda x: group.reduce_scatter(x, parts)),
            after(ones(2), lambda x: group.reduce_scatter([x], [parts], said(
                dist.ReduceScatterOptions, reduceOp=largest))),
            after(ones(1), lambda x: group._reduce_scatter_base(x, mine)),
        ],
        "alltoall": [
            after(two(), lambda x: group.alltoall(x, parts)),
            after(ones(2), lambda x: group.alltoall_base(x, mine, [], [])),
            after(ones(2), lambda x: group.alltoall_base(
                x, mine, [1, 1], [1, 1], said(dist.AllToAllOptions))),
        ],
        "pairs": [after(ones(2), pair), after(ones(2), anybody)],
        "barrier": [
            group.barrier().wait(),
            group.barrier(said(dist.BarrierOptions, timeout=limit)).wait(),
            group.barrier(timeout=limit).wait(),
        ],
    }  # fmt: skip
    found["refused"] = [
        message(lambda: group.allreduce([ones(1), ones(1)]), ValueError),
        message(lambda: group.broadcast([], 0), ValueError),
        message(lambda: group.allgather([[ones(2)], [ones(2)]], [mine]), ValueError),
    ]
    return found


def on_each_rank(rank, size):
    import flambeau.distributed as dist
    import flambeau as torch

    before = dist.GroupMember.WORLD is None
    dist.init_process_group()
    found = methods(torch, rank, dist)
    found["world"] = [before, dist.GroupMember.WORLD is dist.group.WORLD is not None]
    dist.destroy_process_group()
    found["world"].append(dist.GroupMember.WORLD is None)
    return found


@functools.cache
def found():
    return ranks.values(on_each_rank, 2, timeout=60)


def test_reductions():
    for rank, one in enumerate(found()):
        assert one["allreduce"] == [[3, 3], [2, 2], [2, 2], [[3, 3], [2, 2]]]
        assert one["reduce"] == ([[2, 2], [3, 3]] if rank else [[1], [1]])
        own = [3 * 10**rank] * 2
        assert one["reduce_scatter"] == [own, [2 * 10**rank] * 2, [3]]


def test_what_ranks_give_each_other():
    for rank, one in enumerate(found()):
        both = [[1, 1], [2, 2]]
        assert one["broadcast"] == [[2, 2], [1, 1], [2, 2]]
        assert one["allgather"] == [both, both, [1, 1, 2, 2]]
        assert one["gather"] == ([both, both] if rank else [[[1, 1]] * 2] * 2)
        assert one["scatter"] == [[2 * 10**rank] * 2, [10**rank] * 2]
        rows = [[10**rank] * 2, [2 * 10**rank] * 2]
        assert one["alltoall"] == [rows, [1, 2], [1, 2]]
        assert one["pairs"] == ([[1, 1], [1, 1]] if rank else [[1, 1], [2, 2]])
        assert one["barrier"] == [True] * 3


def test_lists_of_several_tensors_are_refused():
    for one in found():
        several, none, lists = one["refused"]
        assert "2 of them" in several and "allreduce_coalesced" in several
        assert "0 of them" in none and "a list of one such" in lists


def test_the_default_group():
    for one in found():
        assert one["world"] == [True] * 3
