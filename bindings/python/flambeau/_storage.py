"""Storages: the memory behind tensors, as far as programs look at it, and that of files."""

import mmap
import os
import sys
import weakref

from ._call import _fast, ffi
from ._deprecated.tensor_types import DTYPE_NAMES
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

    __slots__ = ("_tensor", "filename", "__dict__", "__weakref__")
    is_sparse = is_sparse_csr = is_hpu = False

    def __init__(self, tensor=0, *, device=None):
        self._tensor, self.filename = _holder(tensor, NAMES["uint8"], device), None

    @classmethod
    def from_file(cls, filename, shared=False, nbytes=0):
        """A file's bytes; `shared` as in `torch.from_file`."""
        made = cls(from_file(filename, shared, nbytes, dtype=NAMES["uint8"]))
        made.filename = filename if shared else None
        return made

    def data_ptr(self):
        return int(ffi.cast("intptr_t", _fast.flam_tensor_storage_data(self._tensor._h)))

    _cdata = property(data_ptr)

    def nbytes(self):
        return _fast.flam_tensor_storage_nbytes(self._tensor._h)

    size = __len__ = nbytes
    device = property(lambda self: self._tensor.device)
    is_cuda = property(lambda self: self.device.type == "cuda")
    _unit = NAMES["uint8"]

    def _elements(self):
        """All of the memory as a row of what the storage counts."""
        own = self._tensor.detach()
        n = self.nbytes() // own.dtype.itemsize
        return own.as_strided((n,), (1,), 0).view(self._unit)

    def _index(self, index):
        n = len(self)
        if isinstance(index, slice):
            if index.step not in (None, 1):
                raise RuntimeError(
                    f"Trying to slice with a step of {index.step}, but only a step of 1 is "
                    "supported"
                )
        elif not -n <= index < n:
            raise IndexError(f"index {index} out of range for storage of size {n}")
        return index

    def __getitem__(self, index):
        found = self._elements()[self._index(index)]
        if not isinstance(index, slice):
            return found.item()
        return UntypedStorage(
            from_memory(found.data_ptr(), found.shape, (1,), self._unit, self, self.device)
        )

    def __setitem__(self, index, value):
        self._elements()[self._index(index)] = value

    def __iter__(self):
        return iter(self.tolist())

    def tolist(self):
        """Its elements as numbers."""
        return self._elements().tolist()

    def copy_(self, source, non_blocking=None):
        """Takes over another storage's elements, converted."""
        self._elements().copy_(source._elements(), bool(non_blocking))
        return self

    def __deepcopy__(self, memo):
        found = memo.get(id(self))
        if found is None:  # tensors over the same memory are copied with it
            whole = self._tensor.detach().__deepcopy__(memo)
            found = memo[id(self)] = type(self)(whole)
        return found

    def byteswap(self, dtype):
        """Turns the bytes of each number of this dtype around, of complex ones in each part."""
        n = dtype.itemsize // (2 if dtype.is_complex else 1)
        rows = self._elements().view(NAMES["uint8"])[: self.nbytes() // n * n].view(-1, n)
        rows.copy_(rows.flip(1))

    def resizable(self):
        return True

    def resize_(self, size):
        """Grows the memory, which all tensors over it see."""
        if size < len(self):
            raise UnsupportedError(
                f"resize_: a storage of {len(self)} elements does not shrink, to {size}"
            )
        whole = self._elements() if size else None
        if size > len(self):
            self._tensor = whole.resize_((size,))
        return self

    def cpu(self):
        return self.to("cpu")

    def cuda(self, device=None, non_blocking=False):
        return self.to("cuda" if device is None else device_type("cuda", device))

    def to(self, device, non_blocking=False):
        """The storage there; itself where it is there already."""
        device = device_type(device)
        if device.type == self.device.type and device.index in (None, self.device.index):
            return self
        return type(self)(self._elements().to(device))

    def new(self):
        return type(self)(self._elements()[:0].clone())

    def type(self, dtype=None, non_blocking=False):
        """The name of the class; with one, a storage of it."""
        if dtype is None:
            return f"torch.storage.{type(self).__name__}"
        return TypedStorage(self._elements().type(dtype.replace("Storage", "Tensor")))

    def element_size(self):
        return self._unit.itemsize

    def __repr__(self):
        unseen = self.device.type == "meta"
        values = "...\n" if unseen else "".join(f" {v}\n" for v in self.tolist())
        kind = f"torch.storage.{type(self).__name__}"
        return f"{values}[{kind}({self._facts()}device={self.device}) of size {len(self)}]"

    def _facts(self):
        return ""

    def __sizeof__(self):
        return super().__sizeof__() + self.nbytes()

    def __eq__(self, other):
        return isinstance(other, UntypedStorage) and self.data_ptr() == other.data_ptr()

    def __hash__(self):
        return hash(self.data_ptr())


_known = weakref.WeakValueDictionary()  # by address and size: one may begin another's memory


def storage_of(tensor):
    """`tensor.untyped_storage()`: one object for all tensors over the memory, while it lives."""
    made = UntypedStorage(tensor)
    address = made.data_ptr()
    where = address, made.nbytes()
    found = _known.get(where)
    if found is not None and (found.data_ptr(), found.nbytes()) == where:
        return found
    if address:
        _known[where] = made
    return made


class TypedStorage(UntypedStorage):
    """The elements behind a tensor."""

    __slots__ = ()

    def __init__(self, tensor=0, *, wrap_storage=None, dtype=None, device=None, _internal=False):
        if wrap_storage is not None:
            tensor = wrap_storage._elements().view(dtype or api.get_default_dtype())
        super().__init__(_holder(tensor, dtype or api.get_default_dtype(), device))

    def _facts(self):
        return f"dtype={self.dtype}, "

    dtype = _unit = property(lambda self: self._tensor.dtype)

    def size(self):
        return self.nbytes() // self.dtype.itemsize

    __len__ = size

    def __getitem__(self, index):
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        return super().__getitem__(index)

    def type(self, dtype=None, non_blocking=False):
        """The name of the class for this dtype; with one, a storage of it."""
        name = self._tensor.detach().type().replace("Tensor", "Storage")
        return name if dtype is None else super().type(dtype)

    def untyped(self):
        return storage_of(self._tensor)

    _untyped_storage = property(untyped)


def _of_tensor(name, to_self):
    """A method that is the tensor's of this name, or that of a row over the same memory."""

    def method(self, *args):
        found = getattr(self._elements() if to_self else self._tensor, name)(*args)
        return to_self(self, found) if to_self else found

    method.__name__ = name
    return method


for _name in "get_device is_pinned is_shared".split():
    setattr(UntypedStorage, _name, _of_tensor(_name, None))
for _name in "fill_ share_memory_".split():
    setattr(UntypedStorage, _name, _of_tensor(_name, lambda self, found: self))
for _name in "clone pin_memory".split():
    setattr(UntypedStorage, _name, _of_tensor(_name, lambda self, found: type(self)(found)))
for _name in (name.removesuffix("Tensor").lower() for name in DTYPE_NAMES):
    setattr(UntypedStorage, _name, _of_tensor(_name, lambda self, found: TypedStorage(found)))
UntypedStorage.__copy__ = UntypedStorage.clone
UntypedStorage._resize_ = UntypedStorage.resize_


class _StorageType(type):
    """Metaclass: calling makes a TypedStorage of the dtype; isinstance compares it."""

    def __call__(cls, *data, **named):
        if len(data) > 1:
            raise TypeError(f"{cls.__name__}() takes one number, sequence or storage")
        return TypedStorage(*data, **named, dtype=cls.dtype)

    def __instancecheck__(cls, value):
        return isinstance(value, TypedStorage) and value.dtype is cls.dtype

    def from_buffer(cls, buffer, byte_order="native", count=-1, offset=0):
        """The elements of an object with a buffer, copied; bytes of "big", "little" or the
        machine's order. Of truth values each byte is one."""
        if byte_order not in ("native", "little", "big"):
            raise ValueError(f'byte_order is "native", "little" or "big", not {byte_order!r}')
        kind = cls.dtype
        values = frombuffer(bytearray(buffer), dtype=NAMES["uint8"], offset=offset)
        values = values[: None if count < 0 else count * kind.itemsize]
        if values.numel() % kind.itemsize:
            raise ValueError(
                f"{values.numel()} bytes are no whole number of elements of {kind}, of "
                f"{kind.itemsize} bytes each"
            )
        made = TypedStorage(values.bool() if kind is NAMES["bool"] else values.clone().view(kind))
        if byte_order not in ("native", sys.byteorder):
            made.byteswap(kind)
        return made

    def from_file(cls, filename, shared=False, size=0):
        return TypedStorage(from_file(filename, shared, size, dtype=cls.dtype))


NAMES_OF = {NAMES[kind]: name.replace("Tensor", "Storage") for name, kind in DTYPE_NAMES.items()}
for _kind, _name in NAMES_OF.items():
    _values = {"__module__": "torch", "dtype": _kind, "_dtype": _kind}
    globals()[_name] = _StorageType(_name, (), _values | {"__doc__": f"A storage of {_kind}."})
Storage = globals()["FloatStorage"]


def storage_type(self):
    """The class of storages of its dtype."""
    return globals()[NAMES_OF[self.dtype]]


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
