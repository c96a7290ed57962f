"""Exceptions, and how the thread's pending error of the library becomes one.

Every class is a RuntimeError, as programs written for PyTorch expect, and also the builtin that
Python users would look for (IndexError, ValueError, ...). An exception that left a Python callback
comes back as the very same object."""


class Error(RuntimeError):
    """A failure reported by libflambeau; `code` is its FLAM_ERROR_* number."""

    code = 0


class InvalidArgumentError(Error, ValueError, AssertionError):
    """An argument has a value that the function does not take."""


class ShapeError(Error, ValueError, AssertionError):
    """Shapes do not fit each other or the function."""


class DtypeError(Error, NotImplementedError, TypeError):
    """An operation has no form for these dtypes."""


class DeviceMismatchError(Error):
    """Tensors that must be on one device are on several."""


class OutOfRangeError(Error, IndexError):
    """An index or a dimension is out of range."""


class OutOfMemoryError(Error):
    """A device has no memory left for a request; the text says who holds what."""


class HostMemoryError(Error, MemoryError):
    """The host has no memory left for a request."""


class DeviceError(Error):
    """No usable GPU: none there, its driver too old, no machine code for it, or it was lost."""


class LibraryError(Error, ImportError):
    """A library was not found, or has the wrong version."""


class FileError(Error, OSError):
    """A file cannot be read or written, or is damaged."""


class UnsupportedError(Error, NotImplementedError):
    """What is asked for does not exist here."""


class LinAlgError(Error):
    """A matrix is singular, not positive-definite, or not finite."""


class CheckpointError(Error):
    """A checkpointed function saved other values when it ran again."""


class DistError(Error):
    """Processes of a job failed to work together."""


class DistBackendError(DistError):
    """A collective failed."""


class DistNetworkError(DistError):
    """A process of the job cannot be reached."""


class DistStoreError(DistError):
    """The store of the job did not answer, or a key did not come."""


class CollectiveTimeoutError(DistBackendError, DistStoreError, TimeoutError):
    """Not all processes of a group came to the same collective within its deadline; the text says
    where each of them is."""


class PeerLostError(DistBackendError, DistNetworkError, ConnectionError):
    """A process of the group died, left or cannot be reached; the text names it."""


_CLASSES = {
    1: InvalidArgumentError,
    2: ShapeError,
    3: DtypeError,
    4: DeviceMismatchError,
    5: OutOfRangeError,
    6: OutOfMemoryError,
    7: HostMemoryError,
    8: DeviceError,
    9: DeviceError,
    10: DeviceError,
    11: LibraryError,
    12: LibraryError,
    13: LibraryError,
    14: DeviceError,
    15: CollectiveTimeoutError,
    18: FileError,
    20: UnsupportedError,
    24: LinAlgError,
    25: CheckpointError,
    26: PeerLostError,
}


def exception_of(code, message):
    """The exception for a status code and text."""
    error = _CLASSES.get(code, Error)(message)
    error.code = code
    return error
