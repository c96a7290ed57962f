"""Memory of GPUs as the caching allocator counts it, under PyTorch's names."""

from collections import OrderedDict

from .._gen import api
from ._numbered import numbered as _numbered


def memory_allocated(device=None):
    """Bytes that tensors use."""
    return api.memory_allocated(_numbered(device))


def max_memory_allocated(device=None):
    """The most bytes that tensors used since the last reset."""
    return api.memory_max_allocated(_numbered(device))


def memory_reserved(device=None):
    """Bytes that the cache holds, in use or not."""
    return api.memory_reserved(_numbered(device))


def max_memory_reserved(device=None):
    """The most bytes that the cache held since the last reset."""
    return api.memory_max_reserved(_numbered(device))


memory_cached, max_memory_cached = memory_reserved, max_memory_reserved


def memory_stats(device=None):
    """Every statistic by its key, such as "allocated_bytes.all.peak"."""
    import json

    text = api.memory_stats(_numbered(device))
    return json.loads(text, object_pairs_hook=OrderedDict) if text else OrderedDict()


def memory_stats_as_nested_dict(device=None):
    """The statistics with a dictionary per part of their keys."""
    found = {}
    for key, value in memory_stats(device).items():
        *groups, last = key.split(".")
        inner = found
        for group in groups:
            inner = inner.setdefault(group, {})
        inner[last] = value
    return found


def memory_summary(device=None, abbreviated=False):
    """The statistics as a table for people."""
    return api.memory_summary(_numbered(device), abbreviated)


def memory_snapshot():
    """Every segment and block, in the schema of PyTorch's snapshots."""
    import json

    found = json.loads(api.memory_snapshot())
    return found["segments"] if isinstance(found, dict) else found


def _record_memory_history(enabled="all", context=None, stacks=None, max_entries=100000, **_):
    """Keeps the last events of every allocator, for `_snapshot` and
    `torch.accelerator.memory_timeline`; `enabled=None` forgets them. Ops and modules stand where
    PyTorch has stack frames."""
    api.memory_record_history(max_entries if enabled else 0)


def _snapshot(device=None):
    """Segments, blocks and recorded events, in the schema of PyTorch's snapshots."""
    import json

    return json.loads(api.memory_snapshot())


def _dump_snapshot(filename="dump_snapshot.pickle"):
    """Writes `_snapshot()` as PyTorch's memory viewer reads it."""
    import pickle

    with open(filename, "wb") as file:
        pickle.dump(_snapshot(), file)


def reset_peak_memory_stats(device=None):
    """Lets the peaks start again from what is in use now."""
    api.memory_reset_peak_stats(_numbered(device))


reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats


def reset_accumulated_memory_stats(device=None):
    """Lets the totals start again from 0."""
    api.memory_reset_accumulated_stats(_numbered(device))


def empty_cache():
    """Gives cached memory that no tensor uses back to the devices."""
    for i in range(api.device_count("cuda")):
        api.memory_empty_cache(_numbered(i))


def set_per_process_memory_fraction(fraction, device=None):
    """Limits how much of a GPU this process takes."""
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    api.memory_set_fraction(fraction, _numbered(device))


def get_per_process_memory_fraction(device=None):
    """The limit set by `set_per_process_memory_fraction`."""
    return api.memory_fraction(_numbered(device))


def mem_get_info(device=None):
    """(free, total) bytes as the device itself counts them."""
    return api.device_memory_info(_numbered(device))
