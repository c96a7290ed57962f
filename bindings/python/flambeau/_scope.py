"""Modes for the length of a `with` block. A class of them has `_begin`, a tuple of a C function
that opens the scope and its arguments, or None for nothing, and a list `_tokens`. Entering and
leaving are C (`scope.c`), where no interrupt comes in between."""

from ._call import _fast, _raise, ffi, owner
from ._library import scope

scope.ends_with(_fast.flam_scope_pop)


class Scope(scope.Scope):
    """A block's mode; a block may stand within another one of the same object."""

    __slots__ = ("_tokens",)
    _failed = staticmethod(_raise)

    def __init__(self):
        self._tokens = []


class Opened(Scope):
    """The block of one such tuple."""

    __slots__ = ("_begin",)

    def __init__(self, *begin):
        super().__init__()
        self._begin = opening(*begin)


def opening(function, *args):
    """`_begin` of a C function that gives its scope in an out parameter."""
    return (owner.own_each, (None,), function, *args, ffi.new("flam_scope *"))
