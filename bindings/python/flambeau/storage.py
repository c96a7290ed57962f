"""torch's module of storages."""

from ._storage import NAMES_OF, TypedStorage, UntypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]


def _dtype_to_storage_type_map():
    return NAMES_OF
