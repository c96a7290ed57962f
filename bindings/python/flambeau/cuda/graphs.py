"""`torch.cuda.graphs`: a stream's work captured once and replayed by one call, and private pools of
memory. What runs, is recorded or refused says `graph.h`."""

import contextlib
import gc

from .._call import Holder, _fast
from .._gen import api
from .._on_demand import loader
from .._scope import Opened
from .._types import device as device_type
from .streams import Stream, StreamContext, current_stream

__getattr__ = loader(globals(), {"_graphed": "make_graphed_callables"})


class MemPool(Holder):
    """The current GPU's memory that no other allocations get."""

    __slots__ = ()

    def __new__(cls, allocator=None, use_on_oom=False):
        if allocator is not None or use_on_oom:
            raise NotImplementedError(
                "MemPool(): a pool has the library's allocator, and no other allocations get its "
                "memory, even where there is none: leave out allocator and use_on_oom"
            )
        return cls._of(api.memory_pool_new("cuda"))

    id = property(lambda self: self)  # what `pool=` takes


def use_mem_pool(pool, device=None):
    """Lets this thread's allocations on the pool's GPU come out of it for a `with` block."""
    there = api.memory_pool_device(pool)
    named = there if device is None else device_type(device)
    if named.index is None and named.type == "cuda":
        named = current_stream().device
    if named != there:
        raise ValueError(f"use_mem_pool(): the pool is of {there}, not of {device!r}")
    return Opened(_fast.flam_memory_pool_push, pool._h)


class CUDAGraph(Holder):
    """Work of a GPU that was captured, with the memory that it uses."""

    __slots__ = ()

    def __new__(cls, keep_graph=False):
        return cls._of(api.graph_new())

    def capture_begin(self, pool=None, capture_error_mode="global"):
        """Captures from now on what this thread enqueues on the current stream."""
        api.graph_capture_begin(self, pool=pool, capture_error_mode=capture_error_mode)

    capture_end, replay, reset = api.graph_capture_end, api.graph_replay, api.graph_reset

    def pool(self):
        """Where its memory lies, for `pool=` of another graph that never runs beside it."""
        return MemPool._of(api.graph_pool(self))


@contextlib.contextmanager
def graph(cuda_graph, pool=None, stream=None, capture_error_mode="global"):
    """Captures a `with` block's work on a stream of its own."""
    stream = stream or Stream()
    gc.collect()
    api.device_synchronize(stream.device)
    api.memory_empty_cache(stream.device)
    with StreamContext(stream):
        cuda_graph.capture_begin(pool, capture_error_mode)
        try:
            yield
        finally:
            cuda_graph.capture_end()


graph_pool_handle = MemPool


def is_current_stream_capturing():
    """Whether what this thread enqueues on the current GPU is recorded."""
    return api.device_is_available("cuda") and api.stream_is_capturing(current_stream())
