"""Groups of processes and what they do together, with torch's names over the library's groups.

Ranks that meet in `init_process_group` call the same collectives in the same order; each has a
deadline, and the error says which rank is missing and where in the program every rank is. A group
of one process needs nothing installed, so that programs written for several run and are debugged on
one."""

from .. import _errors
from .._on_demand import by_name as _by_name
from .._on_demand import loader as _loader
from . import _mentioned
from ._group import GroupMember, group
from ._stores import FileStore, HashStore, PrefixStore, Store, TCPStore

_BY_MODULE = {
    "_backend": "Backend BackendConfig",
    "_breakpoint": "breakpoint",
    "_coalesced": "_broadcast_coalesced _coalescing_manager all_gather_coalesced "
    "all_reduce_coalesced",
    "_collectives": "_all_gather_base _reduce_scatter_base all_gather all_gather_into_tensor "
    "all_gather_single all_reduce all_to_all all_to_all_single barrier broadcast gather "
    "gather_into_tensor gather_single monitored_barrier reduce reduce_scatter "
    "reduce_scatter_single reduce_scatter_tensor scatter",
    "_group": "ProcessGroup default_pg_timeout get_backend get_backend_config get_global_rank "
    "get_group_rank get_node_local_rank get_pg_count get_process_group_ranks get_rank "
    "get_world_size set_timeout",
    "_grad_bucket": "BuiltinCommHookType GradBucket",
    "_objects": "all_gather_object broadcast_object_list gather_object recv_object_list "
    "scatter_object_list send_object_list",
    "_ops": "ReduceOp _make_nccl_premul_sum reduce_op supports_complex",
    "_options": "AllToAllOptions AllreduceCoalescedOptions AllreduceOptions BarrierOptions "
    "BroadcastOptions GatherOptions ProcessGroupGloo ProcessGroupNCCL ReduceOptions "
    "ReduceScatterOptions ScatterOptions",
    "_pairs": "P2POp batch_isend_irecv irecv isend recv send",
    "_start": "destroy_process_group get_default_backend_for_device init_process_group "
    "is_available is_backend_available is_gloo_available is_initialized is_mpi_available "
    "is_nccl_available is_torchelastic_launched is_ucc_available is_xccl_available",
    "_subgroups": "new_group new_subgroups new_subgroups_by_enumeration split_group",
    "_summary": "reset_summary summary",
    "_work": "Work",
    "_debug_level": "DebugLevel get_debug_level set_debug_level set_debug_level_from_env",
    "_queues": "QueueEmptyError",
    "_refusals": "get_backend_impl record_comm shrink_group",
    "rendezvous": "register_rendezvous_handler",
    "device_mesh": "DeviceMesh init_device_mesh",
}
_shown = {k: v for k, v in vars(_errors).items() if k.startswith("Dist")}
globals().update(_shown)
__all__ = sorted(
    {name for name in _by_name(_BY_MODULE) if not name.startswith("_")}
    | _shown.keys()
    | {"FileStore", "GroupMember", "HashStore", "PrefixStore", "Store", "TCPStore", "group"}
)

_mentioned.install()
_MODULES = (
    "_composable _functional_collectives _tensor algorithms checkpoint collective_utils "
    "device_mesh distributed_c10d elastic fsdp nn optim pipelining profiler rendezvous tensor utils"
)
__getattr__ = _loader(globals(), _BY_MODULE, _MODULES)
