"""Memory of GPUs as the caching allocator counts it, under PyTorch's names."""

from .. import _refused
from .._gen import api
from .._memory import asking as _asking
from .._memory import of_device as _of_device
from ._numbered import numbered as _numbered

_MORE = {
    "get_per_process_memory_fraction": (
        api.memory_fraction,
        "The limit set by `set_per_process_memory_fraction`.",
    ),
    "mem_get_info": (
        api.device_memory_info,
        "(free, total) bytes as the device itself counts them.",
    ),
}
_asked = {**_of_device(_numbered, __name__), **_asking(_MORE, _numbered, __name__)}
globals().update(_asked)
memory_cached, max_memory_cached = _asked["memory_reserved"], _asked["max_memory_reserved"]
reset_max_memory_allocated = reset_max_memory_cached = _asked["reset_peak_memory_stats"]


def memory_stats_as_nested_dict(device=None):
    """The statistics with a dictionary per part of their keys."""
    found = {}
    for key, value in _asked["memory_stats"](device).items():
        *groups, last = key.split(".")
        inner = found
        for group in groups:
            inner = inner.setdefault(group, {})
        inner[last] = value
    return found


def memory_snapshot():
    """Every segment and block, in the schema of PyTorch's snapshots."""
    return _snapshot()["segments"]


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


globals().update(
    _refused.names(
        __name__,
        "CUDAPluggableAllocator change_current_allocator caching_allocator_alloc "
        "caching_allocator_delete",
        "memory comes from flambeau's own cache",
    )
)
_set_allocator_settings = api.memory_set_allocator_settings


def get_allocator_backend():
    """The cache is flambeau's own."""
    return "native"


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
