"""torch.utils.benchmark: how long statements take, with the device's work waited for."""

from ._timer import Measurement, Timer, timer

__all__ = ["Measurement", "Timer", "timer"]
