"""`torch.distributed.elastic.utils.store`: what the processes of a job tell each other by keys of a
store. A prefix serves once: its keys stay."""

import contextlib
import datetime

from ...._errors import DistStoreError

__all__ = ["barrier", "get_all", "store_timeout", "synchronize"]

_MOST_NAMED = 16


@contextlib.contextmanager
def store_timeout(store, timeout):
    """A block in which calls of the store may take `timeout` seconds."""
    before = store.timeout
    store.set_timeout(datetime.timedelta(seconds=timeout))
    try:
        yield
    finally:
        store.set_timeout(before)


def _arrive(store, world_size, key_prefix):
    """Counts this process; the key that is there when all were counted."""
    last = f"{key_prefix}/last_member"
    if store.add(f"{key_prefix}/num_members", 1) == world_size:
        store.set(last, b"")
    return last


def get_all(store, rank, prefix, world_size):
    """The values of `{prefix}0` to `{prefix}{world_size - 1}`, which are waited for. Rank 0, whose
    process may hold the store, returns when all have read them."""
    values = store.multi_get([f"{prefix}{other}" for other in range(world_size)])
    last = _arrive(store, world_size, f"{prefix}/finished")
    if rank == 0:
        store.wait([last])
    return values


def synchronize(store, data, rank, world_size, key_prefix, timeout=300):
    """The bytes of all ranks, to which this one adds its own."""
    with store_timeout(store, timeout):
        store.set(f"{key_prefix}{rank}", data)
        return get_all(store, rank, key_prefix, world_size)


def barrier(store, world_size, key_prefix, barrier_timeout=300, rank=None,
            rank_tracing_decoder=None, trace_timeout=10):  # fmt: skip
    """Waits until `world_size` processes have come. Where all give their rank the error says, on
    rank 0, which of them did not, as `rank_tracing_decoder(rank)` calls them; it looks for them for
    `trace_timeout` seconds."""
    if rank is None and rank_tracing_decoder is not None:
        raise AssertionError("Tracing requires rank information")
    with store_timeout(store, barrier_timeout):
        last = _arrive(store, world_size, key_prefix)
        try:
            store.wait([last])
        except DistStoreError as problem:
            if rank is None:
                raise
            shown = rank_tracing_decoder or str
            absent = _absent(store, world_size, key_prefix, rank, shown, trace_timeout)
            if absent is None:
                raise
            raise DistStoreError(
                f"Timed out waiting on barrier on rank {rank}, for key prefix: {key_prefix} "
                f"(world_size={world_size}, missing_ranks=[{', '.join(absent)}], "
                f"timeout={barrier_timeout})"
            ) from problem


def _absent(store, world_size, key_prefix, rank, shown, trace_timeout):
    """Ranks that do not say that they waited, too; None where rank 0 itself is one."""
    looked = f"{key_prefix}/TRACING_GATE"
    store.set(f"{key_prefix}{rank}/TRACE", b"")
    if rank != 0:
        with contextlib.suppress(DistStoreError):
            store.wait([looked])
            return [f"<check rank 0 ({shown(0)}) for missing rank info>"]
        return None
    found, patience = [], trace_timeout
    for other in range(1, world_size):
        try:
            store.wait([f"{key_prefix}{other}/TRACE"], datetime.timedelta(seconds=patience))
        except DistStoreError:
            found.append(shown(other))
            patience = 0.001  # the rest has had the same time
        if len(found) == _MOST_NAMED:
            break
    store.set(looked, b"")
    return found
