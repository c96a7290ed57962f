"""`torch.distributed.collective_utils`: values that one rank or each has or computes, handed to
all; where one of them fails, or has what cannot be sent, all raise, so that none waits for it."""

import pickle
from dataclasses import dataclass
from typing import Any

from ._group import get_world_size
from ._objects import all_gather_object, broadcast_object_list
from ._sealed import pickled

__all__ = ["SyncPayload", "all_gather", "all_gather_object_enforce_type", "broadcast"]


@dataclass
class SyncPayload:
    """What ranks tell each other: a value, or what went wrong."""

    stage_name: str | None
    success: bool
    payload: Any
    exception: Exception | None = None


def _computed(data_or_fn, stage_name, pg, success=True):
    mine = SyncPayload(stage_name, success, data_or_fn)
    if callable(data_or_fn):
        try:
            mine.payload = data_or_fn()
        except Exception as problem:  # raised on all ranks
            mine = SyncPayload(stage_name, False, None, problem)
    return mine if pg is None else _sendable(mine)


def _sendable(mine):
    """What other ranks can be told: where this rank alone found that they cannot, they would wait
    for it, and where they alone did, it would go on without them."""
    try:
        pickle.loads(pickled("collective_utils", mine))
        return mine
    except Exception as problem:
        why = mine.exception or problem
        text = f"{type(why).__name__}: {why}"
        return SyncPayload(mine.stage_name, False, None, RuntimeError(text))


def broadcast(data_or_fn, *, success=True, stage_name=None, rank=0, pg=None):
    """The value of `rank`, or what its function returns, on all ranks of `pg`; without a group of
    this process alone, which is rank 0. RuntimeError on all of them where the function raises or
    `success` is false."""
    if not success and data_or_fn is not None:
        raise AssertionError("Data or Function is expected to be None if not successful")
    mine = SyncPayload(stage_name, success, None)
    if (0 if pg is None else pg.rank()) == rank:
        mine = _computed(data_or_fn, stage_name, pg, success)
    if pg is not None:
        told = [mine]
        broadcast_object_list(told, group=pg, group_src=rank)
        mine = told[0]
    if not mine.success:
        text = f"Rank {rank} failed" + (f": stage {mine.stage_name}" if stage_name else "")
        text += f": exception {mine.exception}" if mine.exception is not None else ""
        raise RuntimeError(text) from mine.exception
    return mine.payload


def all_gather(data_or_fn, stage_name=None, pg=None):
    """The values of all ranks of `pg`, or what their functions return. RuntimeError on all of them
    where one raises, or is at another stage."""
    mine = _computed(data_or_fn, stage_name, pg)
    if pg is None:
        if mine.success:
            return [mine.payload]
        raise RuntimeError(f"all_gather failed with exception {mine.exception}") from mine.exception
    told = [None] * get_world_size(pg)
    all_gather_object_enforce_type(pg, told, mine)
    first = told[0].stage_name
    text = "".join(
        f"Unexpected stage name received from rank {rank}: {one.stage_name} "
        for rank, one in enumerate(told)
        if one.stage_name != first
    )
    failed = [(rank, one.exception) for rank, one in enumerate(told) if not one.success]
    if text or failed:
        raise RuntimeError(text, failed) from (failed[0][1] if failed else None)
    return [one.payload for one in told]


def _same_type(first, other):
    return type(first) is type(other)


def all_gather_object_enforce_type(pg, object_list, obj, type_checker=_same_type):
    """As `all_gather_object`; TypeError on all ranks where `type_checker(first, other)` is false of
    what was gathered."""
    all_gather_object(object_list, obj, group=pg)
    for rank, other in enumerate(object_list[1:], 1):
        if not type_checker(object_list[0], other):
            raise TypeError(
                f"Object type at index {rank} is {type(other)}, while first object type is "
                f"{type(object_list[0])}"
            )
