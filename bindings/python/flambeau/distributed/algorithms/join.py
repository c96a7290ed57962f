"""`Join`: a loop over a data set that ends at different steps on different ranks. Who is done goes
on to take part in the collectives of the others, by hooks of what is joined, until all are."""

import abc

from ... import distributed as dist
from ..._torch import ones, zeros


class JoinHook:
    """What a rank without data does in the place of one step, and once all ranks are done."""

    def main_hook(self):
        pass

    def post_hook(self, is_last_joiner):
        pass


class _Config:
    def __init__(self, enable=False, throws=False, first=False):
        self.enable, self.throw_on_early_termination = enable, throws
        self.is_first_joinable = first


class Joinable(abc.ABC):
    """What can be joined: it calls `Join.notify_join_context(self)` before the collectives of a
    step."""

    def __init__(self):
        super().__init__()
        self._join_config = _Config()

    @abc.abstractmethod
    def join_hook(self, **kwargs):
        """The hook for ranks that are done."""

    @property
    @abc.abstractmethod
    def join_device(self):
        """Where the tensors of the join's own collectives are."""

    @property
    @abc.abstractmethod
    def join_process_group(self):
        """The ranks that are joined."""


class Join:
    """As a `with` block around a training loop. Keywords go to `join_hook` of each joinable."""

    def __init__(self, joinables, enable=True, throw_on_early_termination=False, **kwargs):
        if len(joinables) == 0:
            raise ValueError("The join context manager requires at least one joinable")
        self._joinables = joinables
        self._join_hooks = [each.join_hook(**kwargs) for each in joinables]
        self._enable, self._throw_on_early_termination = enable, throw_on_early_termination
        for i, each in enumerate(joinables):
            each._join_config = _Config(enable, throw_on_early_termination, i == 0)
        for name in "join_process_group", "join_device":
            for each in joinables[1:]:
                if getattr(each, name) != getattr(joinables[0], name):
                    what = "process group" if name == "join_process_group" else "device"
                    raise ValueError(f"Using join context manager with multiple {what}s")
        self._process_group = joinables[0].join_process_group
        self._device = joinables[0].join_device

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        if not self._enable or kind:
            return
        last = True
        while self._sum(0):
            if self._throw_on_early_termination:
                self._sum(1)
                raise RuntimeError(
                    f"Rank {dist.get_rank(self._process_group)} exhausted all inputs."
                )
            for hook in self._join_hooks:
                hook.main_hook()
            last = False
        for hook in self._join_hooks:
            hook.post_hook(last)
        for each in self._joinables:
            each._join_config = _Config()

    def _sum(self, mine):
        one = (ones if mine else zeros)(1, device=self._device)
        dist.all_reduce(one, group=self._process_group)
        return one.item()

    @staticmethod
    def notify_join_context(joinable):
        """Tells the ranks that are done that this one is not. Returns the work of it where the
        joinable is the first of a join that is enabled, else None."""
        config = getattr(joinable, "_join_config", None)
        if config is None:
            raise AssertionError(
                f"Check that the {type(joinable)} constructor calls the ``Joinable`` constructor"
            )
        if not config.is_first_joinable or not config.enable:
            return None
        group, device = joinable.join_process_group, joinable.join_device
        work = dist.all_reduce(ones(1, device=device), group=group, async_op=True)
        if config.throw_on_early_termination:
            done = zeros(1, device=device)
            dist.all_reduce(done, group=group)
            if done.item():
                raise RuntimeError(
                    "Detected at least one rank that exhausted inputs. Throwing across all ranks."
                )
        return work
