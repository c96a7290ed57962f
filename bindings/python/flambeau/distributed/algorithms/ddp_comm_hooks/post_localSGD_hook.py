"""Post-local SGD (Lin et al., 2020, arXiv 1808.07217): gradients are averaged over all ranks at
first, and after some steps over a few near ones alone, whose parameters a model averager then
averages with those of the others."""

from .... import distributed as dist
from .debugging_hooks import noop_hook
from .default_hooks import allreduce_hook

__all__ = ["PostLocalSGDState", "post_localSGD_hook"]


class PostLocalSGDState:
    """`process_group`: who averages gradients in the first `start_localSGD_iter` steps, by default
    all; `subgroup`: who does after them, by default the ranks of a machine with GPUs, unless
    `post_local_gradient_allreduce` is False: then nobody."""

    __slots__ = (
        "process_group subgroup start_localSGD_iter post_local_gradient_allreduce iter".split()
    )

    def __init__(
        self, process_group, subgroup, start_localSGD_iter, post_local_gradient_allreduce=True
    ):
        self.process_group, self.subgroup = process_group, subgroup
        self.start_localSGD_iter = start_localSGD_iter
        self.post_local_gradient_allreduce = post_local_gradient_allreduce
        self.iter = 0

    def maybe_increase_iter(self, bucket):
        """Counts a step when its last bucket comes."""
        if bucket.is_last():
            self.iter += 1


def post_localSGD_hook(state, bucket):
    """Averages a bucket over the ranks whose turn it is; `state`: a PostLocalSGDState."""
    if state.iter < state.start_localSGD_iter:
        state.maybe_increase_iter(bucket)
        return allreduce_hook(state.process_group, bucket)
    if not state.post_local_gradient_allreduce:
        return noop_hook(None, bucket)
    if state.subgroup is None:
        state.subgroup, _ = dist.new_subgroups()
    return allreduce_hook(state.subgroup, bucket)
