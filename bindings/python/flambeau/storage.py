"""torch's module of storages."""

from ._storage import NAMES_OF, TypedStorage, UntypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]
_dtype_to_storage_type_map = NAMES_OF.copy
