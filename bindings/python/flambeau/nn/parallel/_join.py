"""A rank of DistributedDataParallel that has no data left: it takes part in the steps of the others
without any of its own, and at the end all ranks have the parameters of one that was last."""

from ..._gen import api
from ..._torch import is_grad_enabled
from ...distributed.algorithms.join import JoinHook
from ._sync import buffers_of, count_ranks, last_rank


class DDPJoinHook(JoinHook):
    def __init__(self, ddp, divide_by_initial_world_size):
        self.ddp = ddp
        ddp._divide_by_initial_world_size = divide_by_initial_world_size

    def main_hook(self):
        """The collectives of one step of the others, in their order."""
        ddp = self.ddp
        if ddp.will_sync_module_buffers():
            ddp._sync_buffers(last_rank(ddp, False))
        if count_ranks(ddp, False):
            ddp.require_forward_param_sync = True
            api.ddp_shadow(ddp._ddp)
        else:
            ddp.require_forward_param_sync = False

    def post_hook(self, is_last_joiner):
        """All ranks get what one of those that were last has."""
        ddp = self.ddp
        root = last_rank(ddp, is_last_joiner)
        tensors = [*ddp.module.parameters(), *buffers_of(ddp._with_buffers)]
        api.ddp_broadcast(ddp._ddp, [t.detach() for t in tensors], root)
        api.ddp_set_divisor(ddp._ddp, ddp._ranks)


def step(ddp, joined):
    """What a rank that has data tells the others before each forward. Returns how many there are.
    `joined`: the work of the count of ranks that have some, of the first module of the join."""
    count = None
    if joined is not None:
        joined.wait()
        count = int(joined.result()[0].item())
    if ddp.will_sync_module_buffers():
        ddp._sync_buffers(last_rank(ddp, True))
    count_ranks(ddp, ddp.require_backward_grad_sync and is_grad_enabled())  # backward will follow
    if count is not None and not ddp._divide_by_initial_world_size:
        api.ddp_set_divisor(ddp._ddp, count)
