"""The process group in its first form: one process, whose collectives are over itself. More than
one rank is refused when the group is made.

Programs written for several processes run on one of them unchanged, which is how they are written
and debugged."""

from .._on_demand import own as _own
from . import _collectives, _group, _mentioned

_shown = {**_own(_collectives, _group), "group": _group.group}
__all__ = sorted(_shown)
globals().update(_shown)

_mentioned.install()
