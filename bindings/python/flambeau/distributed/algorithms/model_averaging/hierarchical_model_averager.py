"""`HierarchicalModelAverager`: near ranks average their parameters often, larger groups of them
more seldom, all of them the most seldom."""

from ...._deprecated import warn
from ... import _subgroups
from ..._group import get_world_size
from .averagers import USELESS, ModelAverager
from .utils import average_parameters_or_parameter_groups

__all__ = ["HierarchicalModelAverager"]


class HierarchicalModelAverager(ModelAverager):
    """`period_group_size_dict`: after how many steps groups of how many ranks average, from the
    shortest period to the longest, whose group is the whole. A step that several periods divide is
    the longest one's."""

    def __init__(self, period_group_size_dict=None, warmup_steps=0, process_group=None):
        super().__init__(process_group)
        if not period_group_size_dict:
            raise ValueError("Arg ``period_group_size_dict`` must not be empty.")
        self._periods = list(period_group_size_dict)
        if self._periods[0] <= 0:
            raise ValueError(
                "The minimum period in arg ``period_group_size_dict`` must be a positive value."
            )
        if self._periods[-1] == 1:
            warn(USELESS.format("the maximum period in arg ``period_group_size_dict``"))
        ranks, last = get_world_size(self.process_group), period_group_size_dict[self._periods[-1]]
        if last != ranks:
            raise ValueError(
                f"The last value in arg ``period_group_size_dict`` {last} must be equal to the "
                f"size of arg ``process_group`` {ranks}."
            )
        if warmup_steps < 0:
            raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")
        self.warmup_steps = warmup_steps
        self.period_process_group_dict = {
            period: self._group_of(size, ranks) for period, size in period_group_size_dict.items()
        }

    def _group_of(self, size, ranks):
        if size == ranks:
            return self.process_group
        return _subgroups.new_subgroups(size, self.process_group)[0]

    def average_parameters(self, params):
        """Counts a step, and averages over the largest group whose time it is."""
        if self.step >= self.warmup_steps:
            due = [period for period in self._periods if self.step % period == 0]
            if due:
                group = self.period_process_group_dict[due[-1]]
                average_parameters_or_parameter_groups(params, group)
        self.step += 1
