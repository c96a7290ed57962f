"""What goes wrong with checkpoints, as all ranks see it: the same exception on each, with what
happened on which."""

import traceback
from typing import Any

__all__ = ["CheckpointException"]

WRAPPED_EXCEPTION = tuple[BaseException, Any]


class CheckpointException(RuntimeError):
    """A save or load that failed on a rank; `failures` has by rank the exception and where it was
    raised."""

    def __init__(self, msg: str, failures: dict[int, WRAPPED_EXCEPTION]):
        super().__init__(msg, failures)
        self._failures = failures

    failures = property(lambda self: self._failures)

    def __str__(self):
        lines = [self.args[0]]
        for rank, (problem, _) in sorted(self._failures.items()):
            text = "".join(traceback.format_exception_only(type(problem), problem)).strip()
            lines.append(f"  rank {rank}: {text}")
        return "\n".join(lines)


class DamagedCheckpoint(RuntimeError):
    """A file of a checkpoint is not what its index says, or the index is no index."""
