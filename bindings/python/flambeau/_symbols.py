"""Numbers that torch's compiler leaves open; programs test with `isinstance`, and no size is
one."""

from . import _refused

_WHY = "no graph is compiled, so that every size is a number"
globals().update(_refused.names("torch", "SymInt SymFloat SymBool", _WHY))
