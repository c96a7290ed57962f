"""Where in the program a collective is called, told to the library for the reports of failures: the
first frame outside this package. Every call says it, so a place is made once for an instruction of
a code object and looked up by numbers after that."""

import os
import sys

from .._library import fast as _fast

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_MOST = 4096  # code objects that are remembered; a session that types code makes ever new ones

# By a code object's id: the object, whose id stays its own, and its places by instruction; None for
# the places of one in this package.
_known = {}


def _learned(code):
    if len(_known) >= _MOST:
        _known.clear()
    own = os.path.abspath(code.co_filename).startswith(_PACKAGE)
    found = _known[id(code)] = code, None if own else {}
    return found


def _named(frame):
    path = frame.f_code.co_filename
    below = os.path.relpath(path) if os.path.isabs(path) else path
    shown = path if below.startswith(os.pardir) else below
    return f"{shown}:{frame.f_lineno} in {frame.f_code.co_name}".encode("utf-8", "replace")


def tell_place():
    """Names the caller's caller, or who called that, to the library."""
    frame = sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        _, places = _known.get(id(code)) or _learned(code)
        if places is None:
            frame = frame.f_back
            continue
        at = frame.f_lasti
        if (place := places.get(at)) is None:
            place = places[at] = _named(frame)
        _fast.flam_group_set_place(place)
        return
