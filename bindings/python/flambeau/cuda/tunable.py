"""Of the algorithms that cuBLASLt has for a product, the one that is fastest on this GPU: torch's
TunableOp. Files are read and written where `read_file` and `write_file` say so."""

import os

from .._gen import api
from . import current_device as _current_device

_filename = os.environ.get("PYTORCH_TUNABLEOP_FILENAME", "tunableop_results.csv")
_numbered = True  # the device's number goes into the name


def enable(val=True):
    """Whether products use what was measured of their kind."""
    api.set_tuning_enabled(bool(val))


def is_enabled():
    """Whether products use what was measured of their kind."""
    return api.tuning_enabled()


def tuning_enable(val=True):
    """Whether kinds of products of which nothing is known are measured."""
    api.set_tuning_measures_enabled(bool(val))


def tuning_is_enabled():
    """Whether kinds of products of which nothing is known are measured."""
    return api.tuning_measures_enabled()


def set_max_tuning_duration(duration):
    """Milliseconds for each algorithm, at most; it always runs once."""
    api.set_tuning_duration(duration)


def get_max_tuning_duration():
    """Milliseconds for each algorithm, at most."""
    return api.tuning_duration()


def set_max_tuning_iterations(iterations):
    """How often each algorithm runs, at most; it always runs once."""
    api.set_tuning_iterations(iterations)


def get_max_tuning_iterations():
    """How often each algorithm runs, at most."""
    return api.tuning_iterations()


def set_filename(filename, insert_device_ordinal=False):
    """The file that `read_file` and `write_file` take where none is given."""
    global _filename, _numbered
    _filename, _numbered = os.fspath(filename), bool(insert_device_ordinal)


def get_filename():
    """The file that `read_file` and `write_file` take where none is given."""
    if not _numbered:
        return _filename
    stem, end = os.path.splitext(_filename)
    return f"{stem}{_current_device()}{end}"


def get_results():
    """(operation, parameters, algorithm, milliseconds) of each kind of product."""
    rows = (line.split(",") for line in api.tuning_results().splitlines())
    return tuple((*names, float(time)) for *names, time in rows)


def get_validators():
    """(name, value) of what measurements depend on."""
    return tuple(tuple(line.split(",", 1)) for line in api.tuning_validators().splitlines())


def write_file(filename=None):
    """Writes what was measured; a failure leaves the file that was there."""
    api.tuning_write_file(get_filename() if filename is None else os.fspath(filename))
    return True


def read_file(filename=None):
    """Reads results. False where there is no such file; one that was measured with other versions
    or GPUs is refused with an error that says which.
    """
    path = get_filename() if filename is None else os.fspath(filename)
    if not os.path.exists(path):
        return False
    api.tuning_read_file(path)
    return True
