"""The index of a checkpoint as text, and a strict reader: an index that is damaged, or that lies
about its files, is an error before any file is opened."""

import json
import math
import re
import zlib

from ..._types import NAMES
from ..._types import dtype as _dtype
from ._plain import decoded
from .api import DamagedCheckpoint

NAME = "index.json"
BLOCK = 1 << 20  # bytes that share a sum
FILE = re.compile(r"save-([0-9a-f]{16})-r(\d+)\.safetensors")
PART = re.compile(r"index\.([0-9a-f]{16})\.part")
_HEAD = "flambeau_checkpoint"
_VERSION = 1


def file_name(save, rank):
    """The file of a rank."""
    return f"save-{save}-r{rank}.safetensors"


def _body(index):
    def plain(value):
        return value._name if isinstance(value, _dtype) else NotImplemented

    return json.dumps(index, sort_keys=True, separators=(",", ":"), default=plain)


def to_bytes(index):
    """The file's text: a sum, and the index that it is of."""
    body = _body(index)
    crc = zlib.crc32(body.encode())
    return f'{{"{_HEAD}":{_VERSION},"crc32":{crc},"index":{body}}}\n'.encode()


def of_bytes(data, path):
    """The index in a file's text, checked."""
    try:
        found = json.loads(data)
        version, crc, index = found[_HEAD], found["crc32"], found["index"]
    except (ValueError, KeyError, TypeError, RecursionError) as problem:
        raise DamagedCheckpoint(f"{path}: this is no index of a checkpoint: {problem!r}") from None
    if version != _VERSION:
        raise DamagedCheckpoint(
            f"{path}: a checkpoint of version {version!r}; this flambeau reads version {_VERSION}"
        )
    if zlib.crc32(_body(index).encode()) != crc:
        raise DamagedCheckpoint(f"{path}: the index is damaged: its CRC-32 does not agree")
    try:
        return _checked(index)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as problem:
        raise DamagedCheckpoint(f"{path}: the index contradicts itself: {problem}") from None


def _require(condition, text):
    if not condition:
        raise ValueError(text)


def _counts(*lists):
    return all(type(n) is int and 0 <= n < 1 << 63 for one in lists for n in one)


def _path(name, entry):
    steps = [tuple(step) if isinstance(step, list) else step for step in entry["path"]]
    _require(steps, f"{name} has no path")
    for step in steps:
        _require(
            isinstance(step, str)
            or (type(step) is int and step >= 0)
            or (isinstance(step, tuple) and len(step) == 1),
            f"{step!r} in the path of {name}",
        )
    entry["path"] = tuple(steps)


def _region(name, entry, files, size):
    """Checks the bytes of a piece or of a value."""
    length = files[entry["file"]]
    _require(_counts([entry["at"]], entry["sums"]), f"bytes of {name}")
    _require(entry["at"] + size <= length, f"{name} ends behind the end of {entry['file']}")
    _require(len(entry["sums"]) == -(-size // BLOCK), f"sums of {name}")


def _checked(index):
    files = index["files"]
    for file, length in files.items():
        match = FILE.fullmatch(file)
        _require(match and match[1] == index["save"], f"file {file!r}")
        _require(_counts([length]), f"length of {file}")
    for name, entry in index["tensors"].items():
        _path(name, entry)
        entry["dtype"], shape = NAMES[entry["dtype"]], entry["shape"]
        _require(_counts(shape) and math.prod(shape) < 1 << 63, f"shape of {name}")
        for piece in entry["pieces"]:
            offsets, sizes = piece["offsets"], piece["sizes"]
            _require(_counts(offsets, sizes), f"a piece of {name}")
            _require(len(offsets) == len(sizes) == len(shape), f"a piece of {name}")
            _require(
                all(o + s <= n for o, s, n in zip(offsets, sizes, shape)),
                f"a piece of {name} lies outside of it",
            )
            _region(name, piece, files, math.prod(sizes) * entry["dtype"].itemsize)
        held = sum(math.prod(piece["sizes"]) for piece in entry["pieces"])
        _require(held == math.prod(shape), f"pieces of {name} are {held} elements")
    for name, entry in index["values"].items():
        _path(name, entry)
        if "json" in entry:
            decoded(entry["json"])
        else:
            _require(_counts([entry["bytes"]]), f"bytes of {name}")
            _region(name, entry, files, entry["bytes"])
    return index
