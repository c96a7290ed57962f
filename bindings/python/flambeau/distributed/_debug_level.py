"""How much torch.distributed is to check and to say, by TORCH_DISTRIBUTED_DEBUG. Programs and
packages ask for it; here it changes nothing, for errors name the ranks that differ at every
level."""

import enum
import os


class DebugLevel(enum.IntEnum):
    """The levels."""

    OFF = 0
    INFO = 1
    DETAIL = 2

    __str__ = enum.Enum.__str__


_level = None


def get_debug_level():
    """The level that was set, or that of the environment."""
    if _level is None:
        set_debug_level_from_env()
    return _level


def set_debug_level(debug_level):
    """Sets it."""
    global _level
    _level = DebugLevel(debug_level)


def set_debug_level_from_env():
    """Sets what TORCH_DISTRIBUTED_DEBUG says; without it, OFF."""
    word = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper()
    if word not in DebugLevel.__members__:
        raise ValueError("The value of TORCH_DISTRIBUTED_DEBUG must be OFF, INFO, or DETAIL.")
    set_debug_level(DebugLevel[word])
