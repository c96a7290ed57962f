"""`PeriodicModelAverager`: the ranks' parameters are averaged after every so many steps, and go
their own ways between."""

import abc

from ...._deprecated import warn
from ..._group import world
from .utils import average_parameters_or_parameter_groups

__all__ = ["ModelAverager", "PeriodicModelAverager"]


USELESS = (
    "When {} is 1, no need to use model averaging because the communication cost of all-reducing "
    "parameters will be no less than the cost of all-reducing gradients by DistributedDataParallel "
    "in the backward pass. Therefore, only DistributedDataParallel should be used for this case."
)


class ModelAverager(abc.ABC):
    """Which ranks, and how many steps there were. Ranks that are not in the group count steps, too,
    and average nothing."""

    def __init__(self, process_group=None):
        self.process_group = world() if process_group is None else process_group
        self.step = 0

    @abc.abstractmethod
    def average_parameters(self, params):
        """After each step of the optimizer."""


class PeriodicModelAverager(ModelAverager):
    """Averages after each `period` steps from `warmup_steps` on; gradients are averaged before."""

    def __init__(self, period, warmup_steps=0, process_group=None):
        super().__init__(process_group)
        if warmup_steps < 0:
            raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")
        if period < 1:
            raise ValueError("Arg ``period`` must be a positive value.")
        if period == 1:
            warn(USELESS.format("period"))
        self.warmup_steps, self.period = warmup_steps, period

    def average_parameters(self, params):
        """Counts a step, and averages parameters, or those of an optimizer's groups, when it is
        time."""
        if self.step >= self.warmup_steps and (self.step - self.warmup_steps) % self.period == 0:
            average_parameters_or_parameter_groups(params, self.process_group)
        self.step += 1
