"""The process group in its first form: one process, whose collectives are over itself. More than
one rank is refused when the group is made.

Programs written for several processes run on one of them unchanged, which is how they are written
and debugged."""

from . import _mentioned
from ._collectives import (
    ReduceOp,
    Work,
    all_gather,
    all_gather_into_tensor,
    all_gather_object,
    all_reduce,
    all_to_all,
    all_to_all_single,
    barrier,
    broadcast,
    broadcast_object_list,
    gather,
    gather_object,
    monitored_barrier,
    reduce,
    reduce_scatter,
    reduce_scatter_tensor,
    scatter,
    scatter_object_list,
)
from ._group import (
    ProcessGroup,
    destroy_process_group,
    get_backend,
    get_group_rank,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    group,
    init_process_group,
    is_available,
    is_gloo_available,
    is_initialized,
    is_mpi_available,
    is_nccl_available,
    is_torchelastic_launched,
    new_group,
)

__all__ = (
    "ProcessGroup ReduceOp Work all_gather all_gather_into_tensor all_gather_object all_reduce "
    "all_to_all all_to_all_single barrier broadcast broadcast_object_list destroy_process_group "
    "gather gather_object get_backend get_group_rank get_process_group_ranks get_rank "
    "get_world_size group init_process_group is_available is_gloo_available is_initialized "
    "is_mpi_available is_nccl_available is_torchelastic_launched monitored_barrier new_group "
    "reduce reduce_scatter reduce_scatter_tensor scatter scatter_object_list"
).split()

_mentioned.install()
