"""Copies of a stage's parameters on other ranks, by DistributedDataParallel or `replicate`:
gradients of the parts of a batch add up on each rank, and the stage's last backward reduces them,
once. A reduction belongs to one forward and its backward, and here other forwards lie between."""

import contextlib

from ...nn.parallel.distributed import DistributedDataParallel, _NoSync


class Copies:
    """What in a module keeps copies alike, wherever it stands."""

    def __init__(self, module):
        self._found = []
        for part in module.modules():
            if isinstance(part, DistributedDataParallel):
                self._found.append(part)
            if (state := vars(part).get("_replicate_state")) is not None:
                self._found.append(state)

    def apart(self):
        """A block of forwards whose backwards reduce nothing."""
        block = contextlib.ExitStack()
        for one in self._found:
            block.enter_context(_NoSync(one))
        return block

    def reduce_next(self, outputs):
        """Has the backward from `outputs` reduce all that has added up."""
        for one in self._found:
            one._reduce_next(outputs)
