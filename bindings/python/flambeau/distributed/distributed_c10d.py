"""`torch.distributed.distributed_c10d`: the same names in the module where torch defines them, and
what programs take from there besides."""

from .. import distributed as _package
from .._gen import api
from ._coalesced import _coalescing_manager
from ._group import _NCCL_TIMEOUT as default_pg_nccl_timeout
from ._group import _groups, member_of, set_timeout, world
from ._ops import _make_nccl_premul_sum
from ._stores import Store

globals().update({name: getattr(_package, name) for name in _package.__all__})


def _get_default_group():
    """The default group; an error where there is none."""
    return world()


def _get_default_store():
    """A store that all ranks of the job share, a part of the one by which they found each other."""
    found = object.__new__(Store)
    found._store = api.group_store(world()._handle)
    found._host = "localhost" if world()._trusted else ""  # see _start._host_of
    return found


def _rank_not_in_group(group):
    """Whether this rank is outside of it."""
    return group is not None and _package.get_rank(group) == -1


def _get_pg_default_device(group=None):
    """Where tensors are that the group moves."""
    from ._sealed import carrier

    return carrier(member_of(group, "_get_pg_default_device"))


def _resolve_process_group(group_name):
    """The group of that name."""
    for found in (world(), *_groups.others.values()):
        if found.group_name == group_name:
            return found
    raise RuntimeError(
        f"Could not resolve the process group registered under the name {group_name}"
    )


_set_pg_timeout = set_timeout
