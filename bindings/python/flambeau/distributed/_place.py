"""Where in the program a collective is called, told to the library for the reports of failures: the
first frame outside this package. Every call says it, so a place is made once for an instruction of
a code object and found by numbers after that."""

import os
import sys

from .._library import fast as _fast

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_MOST = 4096  # code objects that are remembered; a session that types code makes ever new ones

# By a code object's id: its places by instruction; under "code" the object, whose id stays its own,
# and under "own" whether it is this package's.
_known = {}


def _of_directory(change, path):
    """`path` as `change` says it, or as it is where the working directory is gone."""
    try:
        return change(path)
    except OSError:
        return path


def _places_of(code):
    found = _known.get(id(code))
    if found is None:
        if len(_known) >= _MOST:
            _known.clear()
        own = _of_directory(os.path.abspath, code.co_filename).startswith(_PACKAGE)
        found = _known[id(code)] = {"code": code, "own": own}
    return found


def _named(frame):
    path = frame.f_code.co_filename
    below = _of_directory(os.path.relpath, path) if os.path.isabs(path) else path
    shown = path if below.startswith(os.pardir) else below
    return f"{shown}:{frame.f_lineno} in {frame.f_code.co_name}".encode("utf-8", "replace")


def _tell_first(frame):
    while frame is not None:
        places = _places_of(frame.f_code)
        if not places["own"]:
            place = places.get(frame.f_lasti)
            if place is None:
                place = places[frame.f_lasti] = _named(frame)
            _fast.flam_group_set_place(place)
            return
        frame = frame.f_back


def tell_place(_frame=sys._getframe, _known=_known, _set=_fast.flam_group_set_place):
    """Names the caller's caller, or who called that, to the library."""
    frame = _frame(2)
    try:
        _set(_known[id(frame.f_code)][frame.f_lasti])
    except KeyError:
        _tell_first(frame)
