"""`save` and `load`: PyTorch's `.pt` files, readable by either engine.

A file is a zip archive with one pickle, in which tensors refer to storages, and one stored entry
per storage. The pickle names torch's own globals. Reading goes through an exact list of allowed
globals unless `weights_only=False` says that the file is trusted. A file appears under its name
only when it is complete."""

import contextlib
import enum
import io
import os
import pickle
import struct
import sys
import zipfile
from collections import Counter, OrderedDict, defaultdict, namedtuple
from collections.abc import Callable
from functools import cache

from . import _storage
from ._exchange import raw_bytes
from ._factory import from_bytes
from ._gen import ops
from ._on_demand import of_torch
from ._storage import TypedStorage, UntypedStorage
from ._tensor import Tensor
from ._types import DTYPES, NAMES, Size, dtype
from ._types import device as device_type

_STORAGES = {dtype._name: name for dtype, name in _storage.NAMES_OF.items()}


# ---- writing


class _Global:
    """A global of torch, to be named in the pickle."""

    def __init__(self, module, name):
        self.module, self.name = module, name

    def __call__(self, *args):
        raise TypeError(f"{self.module}.{self.name} only has a name here")


_named = cache(_Global)  # one for each: the pickle remembers it
_TENSOR = _named("torch._utils", "_rebuild_tensor_v2")
_PARAMETER = _named("torch._utils", "_rebuild_parameter")
_META = _named("torch._utils", "_rebuild_meta_tensor_no_storage")
_TYPED = _named("torch._tensor", "_rebuild_from_type_v2")
_BYTES = _named("torch.storage", "UntypedStorage")
_Storage = namedtuple("_Storage", "held key")  # stands for a storage while pickling


class _Pickler(pickle._Pickler):
    dispatch = dict(pickle._Pickler.dispatch)

    def __init__(self, file):
        super().__init__(file, 2)
        self.storages = {}

    def _global(self, value, of=None):
        self.write(pickle.GLOBAL + f"{value.module}\n{value.name}\n".encode())
        self.memoize(value if of is None else of)

    def _dtype(self, value):
        self._global(_named("torch", value._name), value)

    dispatch[_Global] = _global
    dispatch[dtype] = _dtype

    def persistent_id(self, value):
        if isinstance(value, UntypedStorage):
            value = self._storage_of(value)
        if not isinstance(value, _Storage):
            return None
        held = value.held
        typed = isinstance(held, TypedStorage)
        kind = _named("torch", _STORAGES[held.dtype._name]) if typed else _BYTES
        return "storage", kind, value.key, str(held.device), len(held)

    def _storage_of(self, held):
        """What stands for a storage: one for all that share its memory and count alike."""
        place = (held.data_ptr(), held.nbytes()) if held.data_ptr() else id(held._tensor)
        where = place, held._unit, isinstance(held, TypedStorage)
        if where not in self.storages:
            self.storages[where] = _Storage(held, str(len(self.storages)))
        return self.storages[where]

    def reducer_override(self, value):
        if isinstance(value, Tensor):
            return self._reduce_tensor(value)
        if isinstance(value, Size):
            return _named("torch", "Size"), (tuple(value),)
        if isinstance(value, device_type):
            return _named("torch", "device"), (str(value),)
        return NotImplemented

    def save_global(self, obj, name=None):
        module = getattr(obj, "__module__", None) or ""
        package, _, rest = module.partition(".")
        if package in ("flambeau", "torch"):
            path = ".".join(filter(None, ("torch", rest)))
            self._global(_named(path, name or obj.__qualname__), obj)
        else:
            super().save_global(obj, name)

    dispatch[type(os.path.join)] = save_global

    def _reduce_tensor(self, value):
        from .nn.parameter import Buffer, Parameter

        kind = type(value)
        if kind.__reduce_ex__ not in (Tensor.__reduce_ex__, Parameter.__reduce_ex__):
            return NotImplemented  # its own
        if issubclass(kind, Parameter):
            found, like = (_PARAMETER, (value.data, value.requires_grad, OrderedDict())), Parameter
        elif value.is_meta:
            about = value.dtype, tuple(value.shape), value.stride(), value.requires_grad
            found, like = (_META, about), Tensor
        else:
            at = value.storage_offset(), tuple(value.shape), value.stride()
            storage = self._storage_of(TypedStorage(value))
            found, like = (_TENSOR, (storage, *at, value.requires_grad, OrderedDict())), Tensor
        if kind in (like, Buffer) and not value.__dict__:
            return found
        return _TYPED, (found[0], kind, found[1], value.__dict__)


_EXPECTED = "expected 'f' to be string, path, or a file-like object with a "


def save(obj, f, pickle_module=None, pickle_protocol=2, _use_new_zipfile_serialization=True):
    """Writes an object with tensors in it to a path or a binary file object, in PyTorch's
    format."""
    if isinstance(f, (str, os.PathLike)):
        with _whole_file(os.fspath(f)) as file:
            return _write(obj, file, os.fspath(f))
    if not hasattr(f, "write"):
        raise AttributeError(_EXPECTED + "'write' attribute")
    if isinstance(f, io.IOBase):
        return _write(obj, f, getattr(f, "name", ""))
    whole = io.BytesIO()  # it may know no more than to write
    _write(obj, whole, "")
    f.write(whole.getvalue())
    getattr(f, "flush", lambda: None)()


def _write(obj, f, path):
    """The archive, whose folder is called after the file."""
    data = io.BytesIO()
    pickler = _Pickler(data)
    pickler.dump(obj)
    name = isinstance(path, str) and os.path.splitext(os.path.basename(path))[0] or "archive"
    with zipfile.ZipFile(f, "w", zipfile.ZIP_STORED) as archive:

        def put(entry, content):
            archive.writestr(zipfile.ZipInfo(f"{name}/{entry}"), content)
            if not _options["crc32"]:
                archive.filelist[-1].CRC = 0

        put("data.pkl", data.getvalue())
        put("byteorder", sys.byteorder)
        for storage in pickler.storages.values():
            put(f"data/{storage.key}", bytes(raw_bytes(storage.held._elements())))
        put("version", "3\n")


@contextlib.contextmanager
def _whole_file(path):
    """A file to write, which has its name once the block is over; a failure leaves none."""
    part = f"{path}.{os.getpid()}.part"
    try:
        with open(part, "wb") as file:
            yield file
        os.replace(part, path)
    finally:
        if os.path.exists(part):
            os.unlink(part)


# ---- reading


def _rebuild_tensor(storage, offset, size, stride, requires_grad=False, hooks=None, metadata=None):
    made = storage._tensor.as_strided(tuple(size), tuple(stride), offset)
    made = made.detach()
    return made.requires_grad_() if requires_grad else made


def _rebuild_meta(dtype, size, stride, requires_grad):
    made = ops.TORCH["empty_strided"](tuple(size), tuple(stride), dtype=dtype, device="meta")
    return made.requires_grad_() if requires_grad else made


def _rebuild_parameter(data, requires_grad, hooks=None, state=None):
    from .nn.parameter import Parameter

    return _with_state(Parameter(data, requires_grad), state)


def _rebuild_typed(function, kind, args, state):
    made = function(*args)
    return _with_state(made if type(made) is kind else made.as_subclass(kind), state)


def _with_state(tensor, state):
    """The tensor with the attributes that a program gave it, in its dictionary and in slots."""
    if isinstance(state, dict) and hasattr(tensor, "__setstate__"):
        tensor.__setstate__(state)
        return tensor
    for part in state if isinstance(state, tuple) else (state,):
        for name, value in (part or {}).items():
            setattr(tensor, name, value)
    return tensor


def _encoded(text, encoding):
    """Bytes, which pickles of protocol 2 hold as a text. Other encodings are no data: one could
    unpack a great deal from a little."""
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"Weights only load failed. Bytes in {encoding!r}, not latin1")
    return text.encode("latin1")


def _holder_of_bytes(kind):
    """`bytes` or `bytearray` of data, as pickles make them; of a number they would ask for as much
    memory, however small the file is."""

    def made(data=b"", encoding=None):
        if isinstance(data, str) and encoding in ("latin-1", "latin1"):
            return kind(data, encoding)
        if not isinstance(data, (bytes, bytearray)) or encoding is not None:
            raise pickle.UnpicklingError(
                f"Weights only load failed. {kind.__name__} of an object of type "
                f"{type(data).__name__} (encoding={encoding!r}): expected bytes, or a text in "
                "latin-1"
            )
        return kind(data)

    return made


def _allowed():
    """The globals that a file may name, as (module, name) -> what to use."""
    from .nn.parameter import Parameter

    found = {
        ("torch._utils", "_rebuild_tensor_v2"): _rebuild_tensor,
        ("torch._utils", "_rebuild_tensor"): _rebuild_tensor,
        ("torch._utils", "_rebuild_meta_tensor_no_storage"): _rebuild_meta,
        ("torch._utils", "_rebuild_parameter"): _rebuild_parameter,
        ("torch._utils", "_rebuild_parameter_with_state"): _rebuild_parameter,
        ("torch._tensor", "_rebuild_from_type_v2"): _rebuild_typed,
        ("torch", "Tensor"): Tensor,
        ("torch.nn.parameter", "Parameter"): Parameter,
        ("torch", "Size"): Size,
        ("torch", "device"): device_type,
        ("torch.storage", "UntypedStorage"): UntypedStorage,
        ("_codecs", "encode"): _encoded,
    }
    values = {"complex": complex, "set": set}
    values.update((kind.__name__, _holder_of_bytes(kind)) for kind in (bytes, bytearray))
    for name, value in values.items():  # of Python 3 and, in pickles of protocol 2, of Python 2
        found["builtins", name] = found["__builtin__", name] = value
    found.update((("collections", c.__name__), c) for c in (OrderedDict, Counter, defaultdict))
    for d in DTYPES:
        found["torch", d._name] = d
        name = _STORAGES[d._name]
        found["torch", name] = found["torch.storage", name] = getattr(_storage, name)
    return found


_safe_globals = {}


def add_safe_globals(safe_globals):
    """Lets `load` build these classes and call these functions."""
    for item in safe_globals:
        if not isinstance(item, tuple):
            item = item, f"{item.__module__}.{item.__qualname__}"
        item, path = item
        module, _, name = path.rpartition(".")
        _safe_globals[module, name] = item


def get_safe_globals():
    """What `add_safe_globals` added."""
    return list(_safe_globals.values())


def clear_safe_globals():
    """Takes everything back that `add_safe_globals` added."""
    _safe_globals.clear()


@contextlib.contextmanager
def safe_globals(safe_globals):
    """`add_safe_globals` for a `with` block or a function."""
    before = dict(_safe_globals)
    add_safe_globals(safe_globals)
    try:
        yield
    finally:
        _safe_globals.clear()
        _safe_globals.update(before)


class SourceChangeWarning(Warning):
    """For the filters of programs that silence it: a class whose source has changed is loaded as
    any other."""


class LoadEndianness(enum.Enum):
    """The byte order of files that do not say theirs."""

    NATIVE, LITTLE, BIG = "native", "little", "big"


_options = {"order": LoadEndianness.NATIVE, "crc32": True}


def set_default_load_endianness(endianness):
    """How files are read that do not say their byte order; None for this machine's."""
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    _options["order"] = endianness or LoadEndianness.NATIVE


def get_default_load_endianness():
    """What `set_default_load_endianness` set; None for this machine's order."""
    return None if _options["order"] is LoadEndianness.NATIVE else _options["order"]


def set_crc32_options(compute_crc32):
    """Whether `save` says the sums of what it writes, which others than `load` ask for."""
    _options["crc32"] = compute_crc32


def get_crc32_options():
    """What `set_crc32_options` set; True at first."""
    return _options["crc32"]


def _stored(archive, entry):
    """The bytes of an entry, unchecked: files may have no sums."""
    info, file = archive.getinfo(entry), archive.fp
    if info.compress_type != zipfile.ZIP_STORED:
        return archive.read(info)
    file.seek(info.header_offset + 26)  # where its header says how long name and extras are
    file.seek(info.header_offset + 30 + sum(struct.unpack("<HH", file.read(4))))
    found, done, direct = memoryview(bytearray(info.file_size)), 0, hasattr(file, "readinto")
    while done < len(found):
        part = None if direct else file.read(len(found) - done)
        count = file.readinto(found[done:]) if direct else len(part)
        if not count:
            raise EOFError(f"{entry} ends after {done} of {len(found)} bytes")
        if not direct:
            found[done : done + count] = part
        done += count
    return found.obj


def _turned(data, size):
    """Elements of so many bytes in the other order."""
    found = bytearray(len(data))
    for i in range(size):
        found[i::size] = data[size - 1 - i :: size]
    return bytes(found)


class _Unpickler(pickle.Unpickler):
    def __init__(self, file, archive, folder, place, trusted):
        super().__init__(file, encoding="utf-8")
        self.archive, self.folder, self.place, self.trusted = archive, folder, place, trusted
        self.known, self.storages = _allowed(), {}
        order = f"{folder}/byteorder"
        said = _options["order"].value
        if order in archive.namelist():
            said = _stored(archive, order).decode().strip()
        self.turned = said not in (sys.byteorder, "native")

    def find_class(self, module, name):
        found = self.known.get((module, name)) or _safe_globals.get((module, name))
        if found is not None:
            return found
        ours = of_torch(module, name) if self.trusted or _safe_globals else None
        if not self.trusted and (ours is None or ours not in _safe_globals.values()):
            raise pickle.UnpicklingError(
                f"Weights only load failed. The file names the global {module}.{name}, which is "
                "not on the list of allowed ones. If you trust where the file comes from, load it "
                "with weights_only=False, which can run any code in it, or allow this global with "
                "torch.serialization.add_safe_globals."
            )
        if ours is None and module.partition(".")[0] == "torch":
            raise pickle.UnpicklingError(f"flambeau has no {module}.{name}")
        return super().find_class(module, name) if ours is None else ours

    def persistent_load(self, saved):
        kind, storage_type, key, location, count = saved
        if kind != "storage":
            raise pickle.UnpicklingError(f"unknown persistent id {kind!r}")
        if key not in self.storages:
            data = _stored(self.archive, f"{self.folder}/data/{key}")
            unit = getattr(storage_type, "dtype", NAMES["uint8"])
            data = data[: count * unit.itemsize]
            if self.turned:
                data = _turned(data, unit.itemsize // (2 if unit.is_complex else 1))
            made = from_bytes(data, (count,), unit, "cpu")
            self.storages[key] = self.place(TypedStorage(made), location)
        return self.storages[key]


# What `load` takes for `map_location`, for annotations.
_PLACE = Callable[[UntypedStorage, str], UntypedStorage | None]
MAP_LOCATION = _PLACE | device_type | str | dict[str, str] | None


def _placement(map_location):
    """(storage, saved location) -> storage where it shall be."""
    if callable(map_location):

        def place(storage, location):
            found = map_location(storage, location)
            return storage.to(location) if found is None else found

        return place

    def place(storage, location):
        if isinstance(map_location, dict):
            location = map_location.get(location, location)
        elif map_location is not None:
            location = str(map_location)
        if location.startswith("cuda"):
            from . import cuda

            if not cuda.is_available():
                raise RuntimeError(
                    "Attempting to deserialize object on a CUDA device but "
                    "torch.cuda.is_available() is False. If you are running on a CPU-only "
                    "machine, please use torch.load with map_location=torch.device('cpu') to map "
                    "your storages to the CPU."
                )
        return storage.to(location)

    return place


def load(
    f, map_location=None, pickle_module=None, *, weights_only=None, mmap=None, **pickle_load_args
):
    """Reads what `save` (of either engine) wrote, from a path or a binary file object."""
    weights_only = pickle_module is None if weights_only is None else weights_only
    if weights_only and pickle_module is not None:
        raise RuntimeError(
            "Can not safely load weights when explicit pickle_module is specified; leave it out, "
            "or give weights_only=False for a file that you trust"
        )
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            if mmap and not zipfile.is_zipfile(file):
                raise RuntimeError(
                    f"mmap can only be used with files saved with `torch.save({f}, "
                    "_use_new_zipfile_serialization=True), please torch.save your checkpoint with "
                    "this option in order to use mmap."
                )
            file.seek(0)
            return load(file, map_location, pickle_module, weights_only=weights_only)
    if not hasattr(f, "read"):
        raise AttributeError(_EXPECTED + "'read' attribute")
    try:
        f.seek(f.tell())
    except (io.UnsupportedOperation, AttributeError) as problem:
        raise type(problem)(
            f"{problem}. You can only torch.load from a file that is seekable. Please pre-load the "
            "data into a buffer like io.BytesIO and try to load from it instead."
        ) from problem
    if mmap:
        raise ValueError("f must be a file path in order to use the mmap argument")
    if not zipfile.is_zipfile(f):
        f.seek(0)
        begin = f.read(4)
        if not begin:
            raise EOFError("Ran out of input: the file is empty")
        if begin == b"PK\3\4":
            raise RuntimeError(
                "PytorchStreamReader failed reading zip archive: failed finding central directory: "
                "the end of the file is missing. It was not written or copied whole; write or copy "
                "it again"
            )
        raise RuntimeError(
            "the file is no zip archive; a file of torch's before 1.6 is unsupported: load "
            "and save it again with a newer torch"
        )
    with zipfile.ZipFile(f) as archive:
        entry = next((n for n in archive.namelist() if n.endswith("/data.pkl")), None)
        if entry is None:
            raise RuntimeError(
                "the zip archive holds no data.pkl: it was not written by torch.save"
            )
        folder = entry[: -len("/data.pkl")]
        kind = _Unpickler
        if pickle_module is not None:
            kind = type("_Unpickler", (kind, pickle_module.Unpickler), {})
        data = io.BytesIO(_stored(archive, entry))
        return kind(data, archive, folder, _placement(map_location), not weights_only).load()
