"""Storages: the memory behind tensors, as far as programs look at it, and that of files."""

import mmap
import os

from ._call import _fast, ffi
from ._errors import UnsupportedError
from ._factory import from_memory, frombuffer, tensor
from ._gen import api, ops
from ._tensor import Tensor
from ._types import NAMES
from ._types import device as device_type


def _holder(value, dtype, device):
    """The tensor whose memory a storage is."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, int):
        return ops.TORCH["empty"]((value,), dtype=dtype, device=device)
    return tensor(value, dtype=dtype, device=device)


class UntypedStorage:
    """The bytes behind a tensor; of a number, so many new ones, or of a sequence, those."""

    __slots__ = ("_tensor",)

    def __init__(self, tensor=0, *, device=None):
        self._tensor = _holder(tensor, NAMES["uint8"], device)

    def data_ptr(self):
        return int(ffi.cast("intptr_t", _fast.flam_tensor_storage_data(self._tensor._h)))

    def nbytes(self):
        return _fast.flam_tensor_storage_nbytes(self._tensor._h)

    size = __len__ = nbytes

    @property
    def device(self):
        return self._tensor.device

    def tolist(self):
        """The bytes."""
        own = self._tensor
        if own.dtype.itemsize > 1:
            own = from_memory(
                self.data_ptr(), (self.nbytes(),), (1,), NAMES["uint8"], self, self.device
            )
        return own.as_strided((self.nbytes(),), (1,), 0).tolist()

    def __repr__(self):
        values = "".join(f" {v}\n" for v in self.tolist())
        kind = f"torch.storage.{type(self).__name__}"
        return f"{values}[{kind}({self._facts()}device={self.device}) of size {len(self)}]"

    def _facts(self):
        return ""

    def __eq__(self, other):
        return isinstance(other, UntypedStorage) and self.data_ptr() == other.data_ptr()

    def __hash__(self):
        return hash(self.data_ptr())


class TypedStorage(UntypedStorage):
    """The elements behind a tensor."""

    __slots__ = ()

    def __init__(self, tensor=0, *, dtype=None, device=None):
        self._tensor = _holder(tensor, dtype or api.get_default_dtype(), device)

    def _facts(self):
        return f"dtype={self.dtype}, "

    @property
    def dtype(self):
        return self._tensor.dtype

    def size(self):
        return self.nbytes() // self.dtype.itemsize

    __len__ = size

    def _elements(self):
        return self._tensor.detach().as_strided((self.size(),), (1,), 0)

    def tolist(self):
        return self._elements().tolist()

    def __getitem__(self, index):
        return self.tolist()[index]

    def __iter__(self):
        return iter(self.tolist())

    def untyped(self):
        return UntypedStorage(self._tensor)


def from_file(filename, shared=None, size=0, *, dtype=None, layout=None, device=None,
              requires_grad=False, pin_memory=False):  # fmt: skip
    """A 1-d tensor of `size` elements over a file on the cpu, read as they are used. `shared`:
    writes go to the file, which is made or grown to the size; else they stay with the tensor."""
    if device is not None and device_type(device).type != "cpu":
        raise UnsupportedError(
            f"from_file: a file is memory of the cpu, not of {device}; move the result there"
        )
    dtype = dtype or api.get_default_dtype()
    length = size * dtype.itemsize
    flags = os.O_RDWR | os.O_CREAT if shared else os.O_RDONLY
    try:
        file = os.open(filename, flags, 0o600)
    except OSError as problem:
        raise RuntimeError(f"unable to open file <{filename}>: {problem.strerror}") from problem
    try:
        there = os.fstat(file).st_size
        if shared and there < length:
            os.ftruncate(file, length)
        elif there < length:
            raise RuntimeError(
                f"from_file: {filename!r} has {there} bytes, and {size} elements of {dtype} need "
                f"{length}; shared=True makes a file larger"
            )
        if not length:
            return ops.TORCH["empty"]((0,), dtype=dtype, requires_grad=requires_grad)
        access = mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY
        mapped = mmap.mmap(file, length, access=access)
    finally:
        os.close(file)
    return frombuffer(mapped, dtype=dtype, count=size, requires_grad=requires_grad)
