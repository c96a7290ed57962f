"""Jobs that mpirun started: where Python's packages put MPI's library, and a key for a job whose
processes have no environment in common."""

import os
import secrets
import sys

from .._factory import from_bytes
from .._gen import api
from .._types import NAMES

_KEY = "FLAMBEAU_JOB_KEY"


def look_beside_python():
    """PyPI's mpich lies in the interpreter's `lib`."""
    api.library_directory_add(os.path.join(sys.prefix, "lib"))


def share_key(handle):
    """Gives all ranks the first one's key, or a new one, over MPI itself."""
    first = os.environ.get(_KEY) or secrets.token_hex(32)
    key = from_bytes(first.encode().ljust(256, b"\0"), (256,), NAMES["uint8"], "cpu")
    api.group_broadcast(handle, [key], 0)
    os.environ[_KEY] = bytes(key.tolist()).rstrip(b"\0").decode()
