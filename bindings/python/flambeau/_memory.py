"""What any device says of its memory, as `torch.cuda` and `torch.accelerator` ask: one function per
statistic of the caching allocator, over what a `device` argument means there."""

from collections import OrderedDict

from ._gen import api

_BYTES = {
    "memory_allocated": (api.memory_allocated, "Bytes that tensors use."),
    "max_memory_allocated": (
        api.memory_max_allocated,
        "The most bytes that tensors used since the last reset.",
    ),
    "memory_reserved": (api.memory_reserved, "Bytes that the cache holds, in use or not."),
    "max_memory_reserved": (
        api.memory_max_reserved,
        "The most bytes that the cache held since the last reset.",
    ),
    "reset_peak_memory_stats": (
        api.memory_reset_peak_stats,
        "Lets the peaks start again from what is in use now.",
    ),
    "reset_accumulated_memory_stats": (
        api.memory_reset_accumulated_stats,
        "Lets the totals start again from 0.",
    ),
}


def asking(rows, numbered, module):
    """Functions of a `device` argument, which `numbered` reads, by name: for each row the function
    of the library that answers, and what it says."""

    def asked(name, function, text):
        def ask(device=None):
            return function(numbered(device))

        ask.__name__, ask.__qualname__, ask.__doc__ = name, name, text
        ask.__module__ = module
        return ask

    return {name: asked(name, *row) for name, row in rows.items()}


def of_device(numbered, module):
    """All of them, and the two that say more."""

    def memory_stats(device=None):
        """Every statistic by its key, such as "allocated_bytes.all.peak"."""
        import json

        text = api.memory_stats(numbered(device))
        return json.loads(text, object_pairs_hook=OrderedDict) if text else OrderedDict()

    def memory_summary(device=None, abbreviated=False):
        """The statistics as a table for people."""
        return api.memory_summary(numbered(device), abbreviated)

    found = {"memory_stats": memory_stats, "memory_summary": memory_summary}
    for name, function in found.items():
        function.__module__, function.__qualname__ = module, name
    return {**asking(_BYTES, numbered, module), **found}
