"""Learning-rate schedules over an optimizer's parameter groups."""

from .._on_demand import own as _own
from . import _schedule_composite, _schedule_cycles, _schedule_forms
from ._schedule import EPOCH_DEPRECATION_WARNING, LRScheduler, _LRScheduler

globals().update(_own(_schedule_composite, _schedule_cycles, _schedule_forms))
__all__ = [
    *("EPOCH_DEPRECATION_WARNING", "LRScheduler", "_LRScheduler"),
    *_own(_schedule_composite, _schedule_cycles, _schedule_forms),
]
