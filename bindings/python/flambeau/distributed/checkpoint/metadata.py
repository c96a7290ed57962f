"""What a checkpoint holds, as programs look at it: `FileSystemReader(path).read_metadata()`, and
what `save` returns."""

from dataclasses import dataclass, field
from typing import Any

from ..._types import Size, dtype, float32

__all__ = [
    "BytesStorageMetadata",
    "ChunkStorageMetadata",
    "Metadata",
    "MetadataIndex",
    "StorageMeta",
    "TensorProperties",
    "TensorStorageMetadata",
]


@dataclass
class ChunkStorageMetadata:
    """A piece: where in the tensor it begins, and how large it is."""

    offsets: Size
    sizes: Size


@dataclass
class TensorProperties:
    """What is told of a tensor's elements."""

    dtype: dtype = float32


@dataclass
class TensorStorageMetadata:
    """A tensor: `size` of all of it, and its pieces."""

    properties: TensorProperties
    size: Size
    chunks: list[ChunkStorageMetadata]


@dataclass
class BytesStorageMetadata:
    """A value that is no tensor."""


@dataclass(frozen=True)
class MetadataIndex:
    """Which piece of which tensor: the one at `offset`. `index` only says where in a list to look
    first, and makes no difference."""

    fqn: str
    offset: Size | None = None
    index: int | None = field(default=None, hash=False, compare=False)

    def __post_init__(self):
        if self.offset is not None:
            object.__setattr__(self, "offset", Size(self.offset))


STORAGE_TYPES = TensorStorageMetadata | BytesStorageMetadata


@dataclass
class StorageMeta:
    """Which save it was, and where."""

    checkpoint_id: Any = None
    save_id: str | None = None
    load_id: str | None = None
    modules: list[str] = field(default_factory=list)


@dataclass
class Metadata:
    """All of it, by name; `planner_data` has each name's path in the state dict."""

    state_dict_metadata: dict[str, STORAGE_TYPES]
    planner_data: Any = None
    storage_data: Any = None
    storage_meta: StorageMeta | None = None
    version: str | None = None


def of_index(index, folder):
    """The metadata that an index has."""
    found = {}
    for name, entry in index["tensors"].items():
        chunks = [
            ChunkStorageMetadata(Size(p["offsets"]), Size(p["sizes"])) for p in entry["pieces"]
        ]
        properties = TensorProperties(entry["dtype"])
        found[name] = TensorStorageMetadata(properties, Size(entry["shape"]), chunks)
    found.update((name, BytesStorageMetadata()) for name in index["values"])
    entries = {**index["tensors"], **index["values"]}
    paths = {name: entry["path"] for name, entry in entries.items()}
    return Metadata(found, paths, None, StorageMeta(folder, index["save"]), "1")
