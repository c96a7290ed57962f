"""Storages: the memory behind tensors, as far as programs look at it."""

from ._call import _fast, ffi


class UntypedStorage:
    """The bytes behind a tensor."""

    __slots__ = ("_tensor",)

    def __init__(self, tensor):
        self._tensor = tensor

    def data_ptr(self):
        return int(ffi.cast("intptr_t", _fast.flam_tensor_storage_data(self._tensor._h)))

    def nbytes(self):
        return _fast.flam_tensor_storage_nbytes(self._tensor._h)

    size = __len__ = nbytes

    @property
    def device(self):
        return self._tensor.device

    def __eq__(self, other):
        return isinstance(other, UntypedStorage) and self.data_ptr() == other.data_ptr()

    def __hash__(self):
        return hash(self.data_ptr())


class TypedStorage(UntypedStorage):
    """The elements behind a tensor."""

    __slots__ = ()

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
