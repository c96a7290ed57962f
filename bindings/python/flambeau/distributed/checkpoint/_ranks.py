"""What the ranks of a save or load tell each other. A step that fails on one of them fails on all,
with the same exception, so that nobody goes on or waits alone."""

import pickle
import traceback

from ... import distributed as dist
from ..._deprecated import warn
from .api import CheckpointException, DamagedCheckpoint


class Ranks:
    """The ranks of a group, or this process alone."""

    def __init__(self, group=None, alone=False):
        self.alone, self.group = alone, group
        self.rank, self.size = (
            (0, 1) if alone else (dist.get_rank(group), dist.get_world_size(group))
        )

    @classmethod
    def asked(cls, group, no_dist, what):
        """Those that take part, where a program says so."""
        if no_dist:
            return cls(alone=True)
        if not dist.is_initialized():
            warn(
                "torch.distributed is disabled, unavailable or uninitialized, assuming the intent "
                f"is to {what} in a single process."
            )
            return cls(alone=True)
        return cls(group)

    def gather(self, value):
        """Every rank's value, on every rank."""
        if self.size == 1:
            return [value]
        found = [None] * self.size
        dist.all_gather_object(found, value, group=self.group)
        return found

    def together(self, what, work):
        """What `work()` returned on each rank; where it failed on any, the exception is raised on
        all of them."""
        given = problem = None
        try:
            given = work()
        except Exception as caught:
            problem = caught
        shared = problem if self.size == 1 or problem is None else _portable(problem)
        told = self.gather((shared, given))
        failures = {rank: (one, _trace(one)) for rank, (one, _) in enumerate(told) if one}
        if failures:
            raise CheckpointException(f"{what} failed", failures) from problem
        return [value for _, value in told]


def _trace(problem):
    return traceback.extract_tb(problem.__traceback__)


def _portable(problem):
    """The exception as other ranks can have it: of its own class where that survives a pickle."""
    try:
        again = pickle.loads(pickle.dumps(problem))
        if type(again) is type(problem) and str(again) == str(problem):
            return problem
    except Exception:
        pass
    kind = DamagedCheckpoint if isinstance(problem, DamagedCheckpoint) else RuntimeError
    return kind(f"{type(problem).__name__}: {problem}")
