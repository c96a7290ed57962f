"""The process group in its first form: one process, whose collectives are over itself. More than
one rank is refused when the group is made.

Programs written for several processes run on one of them unchanged, which is how they are written
and debugged."""

from .. import _errors
from .._on_demand import own as _own
from . import _collectives, _group, _mentioned, _stores

_shown = {**_own(_collectives, _group, _stores), "group": _group.group}
_shown |= {k: v for k, v in vars(_errors).items() if k.startswith("Dist")}
__all__ = sorted(_shown)
globals().update(_shown)

_mentioned.install()
