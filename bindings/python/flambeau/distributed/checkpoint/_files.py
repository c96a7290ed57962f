"""Files of a checkpoint: written whole and flushed to the disk, or not there; read by ranges, each
of which is checked against its sums. A tensor at a time is in memory while writing."""

import json
import math
import os
import zlib

from ..._exchange import raw_bytes
from ..._types import NAMES
from ._index import BLOCK
from .api import DamagedCheckpoint

# What the safetensors format calls a dtype; complex128, which it has no name for, lies as pairs.
_CODES = {
    **{f"float{n}": f"F{n}" for n in (16, 32, 64)},
    **{f"int{n}": f"I{n}" for n in (8, 16, 32, 64)},
    **{"bfloat16": "BF16", "uint8": "U8", "bool": "BOOL", "complex64": "C64", "complex128": "F64"},
}


class Entry:
    """What goes into a file under a key: a tensor, or bytes."""

    def __init__(self, key, data, dtype=NAMES["uint8"], sizes=None):
        self.key, self.data, self.dtype = key, data, dtype
        self.sizes = (len(data),) if sizes is None else sizes
        self.size = math.prod(self.sizes) * dtype.itemsize

    def bytes(self):
        return self.data if isinstance(self.data, bytes) else raw_bytes(self.data)


def sums(data):
    """The CRC-32 of every block."""
    view = memoryview(data)
    return [zlib.crc32(view[i : i + BLOCK]) for i in range(0, len(view), BLOCK)]


def flush_folder(folder):
    """Puts on the disk which files a directory has."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _put(handle, data):
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def _write(path, parts, sync):
    """A new file of these bytes, on the disk when this returns; none where that fails."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        try:
            for data in parts:
                _put(handle, data)
            if sync:
                os.fsync(handle)
        finally:
            os.close(handle)
    except BaseException as problem:
        remove(path)
        if isinstance(problem, OSError) and problem.filename is None:
            raise OSError(problem.errno, problem.strerror, path) from problem
        raise


def remove(path):
    """Removes a file, as far as that is possible."""
    try:
        os.unlink(path)
    except OSError:
        pass


def write_file(path, entries, sync=True):
    """A safetensors file; its length, and for each entry where it lies and its sums."""
    header, at = {}, 0
    for entry in entries:
        header[entry.key] = {
            "dtype": _CODES[entry.dtype._name],
            "shape": [*entry.sizes, *([2] if entry.dtype._name == "complex128" else [])],
            "data_offsets": [at, at + entry.size],
        }
        at += entry.size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    begin, records = 8 + len(text), []

    def parts():
        yield len(text).to_bytes(8, "little") + text
        for entry in entries:
            data = entry.bytes()
            records.append((begin + header[entry.key]["data_offsets"][0], sums(data)))
            yield data

    _write(path, parts(), sync)
    return begin + at, records


def replace_file(path, part, data, sync=True):
    """Gives a file new contents by renaming `part`, which is whole and flushed before."""
    _write(part, [data], sync)
    try:
        os.replace(part, path)
    except BaseException:
        remove(part)
        raise


class Files:
    """The files of a checkpoint, opened when something in them is asked for."""

    def __init__(self, folder, lengths):
        self._folder, self._lengths, self._handles = folder, lengths, {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for handle in self._handles.values():
            os.close(handle)

    def _handle(self, name, file):
        if file not in self._handles:
            path = os.path.join(self._folder, file)
            try:
                handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                raise DamagedCheckpoint(f"{path}: this file, which has {name}, is gone") from None
            self._handles[file] = handle
            length = os.fstat(handle).st_size
            if length != self._lengths[file]:
                raise DamagedCheckpoint(
                    f"{path}: {length} bytes long, but {self._lengths[file]} were saved; "
                    f"{name} was to be read from it"
                )
        return self._handles[file]

    def read(self, name, region, size, start, stop):
        """Bytes `start` to `stop` of a region of `size` bytes, in a buffer with those around them
        that share their sums; and where in the buffer they begin."""
        handle = self._handle(name, region["file"])
        first, last = start // BLOCK, -(-stop // BLOCK)
        begin, end = first * BLOCK, min(size, last * BLOCK)
        buffer = bytearray(end - begin)
        view, done = memoryview(buffer), 0
        while done < len(view):
            count = os.preadv(handle, [view[done:]], region["at"] + begin + done)
            if not count:
                break
            done += count
        if done < len(view) or sums(buffer) != region["sums"][first:last]:
            path = os.path.join(self._folder, region["file"])
            raise DamagedCheckpoint(
                f"{path}: the bytes of {name} are damaged: their CRC-32 does not agree"
            )
        return buffer, start - begin
