"""Memory that several processes see: a mapped anonymous file, and the tensors that lie in one.

A segment lives as long as a storage over it; `segment_of` finds it by the storage's address."""

import mmap
import os
import weakref

from .._call import ffi
from .._factory import from_memory

_segments = weakref.WeakValueDictionary()


class Segment:
    """One mapped file without a name; the descriptor stays open, so that it can be sent."""

    def __init__(self, nbytes, fd=None):
        self.fd = os.memfd_create("flambeau") if fd is None else fd
        self.nbytes = nbytes
        if fd is None:
            os.ftruncate(self.fd, max(nbytes, 1))
        self._map = mmap.mmap(self.fd, max(nbytes, 1))
        self._view = ffi.from_buffer(self._map)
        self.address = int(ffi.cast("intptr_t", self._view))
        _segments[self.address] = self

    def __del__(self):
        fd = getattr(self, "fd", None)
        if fd is not None:
            os.close(fd)

    def tensor(self, dtype, shape, stride, offset):
        """A tensor over this memory, which it keeps."""
        n = self.nbytes // dtype.itemsize
        flat = from_memory(self.address, (n,), (1,), dtype, self)
        return flat.as_strided(shape, stride, offset)


def segment_of(tensor):
    """The segment that a tensor's storage lies in; None for private memory."""
    if not tensor.is_cpu:
        return None
    return _segments.get(tensor.untyped_storage().data_ptr())


def share(tensor):
    """Moves a cpu tensor's storage into shared memory; the tensor keeps its identity."""
    if not tensor.is_cpu or segment_of(tensor) is not None:
        return
    storage = tensor.untyped_storage()
    n = storage.nbytes() // tensor.element_size()
    segment = Segment(n * tensor.element_size())
    plain = tensor.detach()
    segment.tensor(tensor.dtype, (n,), (1,), 0).copy_(plain.as_strided((n,), (1,), 0))
    tensor.data = segment.tensor(
        tensor.dtype, tensor.shape, tensor.stride(), tensor.storage_offset()
    )


def share_memory_(self):
    """Moves the storage into memory that processes share; on a GPU all memory counts as such."""
    share(self)
    return self


def is_shared(self):
    """Whether other processes can see the memory."""
    return not self.is_cpu or segment_of(self) is not None
