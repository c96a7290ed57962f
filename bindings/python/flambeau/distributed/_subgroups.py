"""Groups of some ranks of the job. Names come from a count that is the same on all ranks, so that
the members of a group find each other by it."""

from .._gen import api
from ._group import (
    GroupMember,
    ProcessGroup,
    _groups,
    default_timeout,
    member_of,
    seconds,
    world,
)
from ._meeting import met


def _checked(ranks, size):
    ranks = [int(rank) for rank in ranks]
    if len(set(ranks)) != len(ranks):
        raise ValueError(f"ranks list must not contain duplicate entries, got {ranks}")
    if len(ranks) > size:
        raise ValueError(
            "the new group's world size should be less or equal to the world size set by "
            "init_process_group"
        )
    for rank in ranks:
        if not 0 <= rank < size:
            raise ValueError(
                f"Rank {rank} is out of range. Valid ranks are 0 to {size - 1} (world_size={size})"
            )
    return ranks


def _next_name(ranks, use_local_synchronization):
    if not use_local_synchronization:
        _groups.count += 1
        return str(_groups.count - 1)
    key = "_".join(map(str, ranks))
    made = _groups.of_members[key] = _groups.of_members.get(key, 0) + 1
    return f"{key}-{made}"


def new_group(ranks=None, timeout=None, backend=None, pg_options=None,
              use_local_synchronization=False, group_desc=None, device_id=None,
              sort_ranks=True):  # fmt: skip
    """A group of some ranks; all ranks of the job call it, in the same order, or with
    `use_local_synchronization` its members only. Others get GroupMember.NON_GROUP_MEMBER."""
    whole = world()
    ranks = _checked(range(whole._size) if ranks is None else ranks, whole._size)
    ranks = sorted(ranks) if sort_ranks else ranks
    name = _next_name(ranks, use_local_synchronization)
    is_member = whole._rank in ranks
    if not is_member:
        _groups.outside = ranks
    if use_local_synchronization and not is_member:
        return GroupMember.NON_GROUP_MEMBER
    asked = whole._backend if backend is None else str(backend).lower()
    given = "" if asked == "undefined" else asked
    making = timeout
    if timeout is None:  # calls wait as torch's do; to make it takes no longer than the job's may
        timeout = default_timeout(given)
        making = min(timeout, whole._timeout, key=seconds)
    options = ranks, given, f"group-{name}", seconds(making)
    handle = met(api.group_split, whole._handle, *options)
    if not is_member:
        return GroupMember.NON_GROUP_MEMBER
    api.group_set_timeout(handle, seconds(timeout))
    made = _groups.others[name] = ProcessGroup(
        handle, asked, name, timeout, whole._trusted, group_desc or "undefined", device_id
    )
    return made


def new_subgroups_by_enumeration(ranks_per_subgroup_list, timeout=None, backend=None,
                                 pg_options=None, group_desc=None):  # fmt: skip
    """Groups by the lists of their ranks, which have no rank in common: this rank's, None where it
    is in no list, and all."""
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    seen = {}
    for i, ranks in enumerate(ranks_per_subgroup_list):
        for rank in ranks:
            if rank in seen:
                raise ValueError(
                    f"Rank {rank} has appeared in both subgroup "
                    f"{ranks_per_subgroup_list[seen[rank]]} and {ranks}"
                )
            seen[rank] = i
    own, made = None, []
    for ranks in ranks_per_subgroup_list:
        found = new_group(ranks, timeout, backend, pg_options, group_desc=group_desc)
        made.append(found)
        own = found if isinstance(found, ProcessGroup) else own
    return own, made


def new_subgroups(group_size=None, group=None, timeout=None, backend=None, pg_options=None,
                  group_desc=None):  # fmt: skip
    """Groups of `group_size` ranks that follow one another; by default the GPUs of a machine."""
    whole = member_of(group, "new_subgroups")
    if group_size is None:
        from .. import cuda

        if not cuda.is_available():
            raise ValueError("Default group size only takes effect when CUDA is available. "
                             "Give group_size.")  # fmt: skip
        group_size = cuda.device_count()
    size = whole._size
    if group_size <= 0:
        raise ValueError(f"The arg 'group_size' ({group_size}) must be positive")
    if size < group_size:
        raise ValueError(
            f"The arg 'group_size' ({group_size}) must not exceed the world size ({size})"
        )
    if size % group_size:
        raise ValueError(f"The world size ({size}) must be divisible by 'group_size={group_size}'")
    ranks = [whole._ranks[i : i + group_size] for i in range(0, size, group_size)]
    return new_subgroups_by_enumeration(ranks, timeout, backend, pg_options, group_desc)


def split_group(parent_pg=None, split_ranks=None, timeout=None, pg_options=None, group_desc=None,
                backend=None):  # fmt: skip
    """This rank's of several groups, given by lists of ranks of `parent_pg`, all of whose ranks
    call it."""
    parent = member_of(parent_pg, "split_group")
    if not split_ranks:
        raise ValueError("split_ranks cannot be None or empty")
    timeout = parent._timeout if timeout is None else timeout
    asked = parent._backend if backend is None else str(backend).lower()
    given = "" if asked == "undefined" else asked
    lists = [_checked(ranks, parent._size) for ranks in split_ranks]
    if len({rank for ranks in lists for rank in ranks}) != sum(map(len, lists)):
        raise ValueError(f"split_ranks {split_ranks} have a rank in common")
    found = GroupMember.NON_GROUP_MEMBER
    for ranks in lists:
        made = parent._splits = getattr(parent, "_splits", 0) + 1
        if parent._rank not in ranks:
            continue
        name = f"{parent.group_name}.{made}"
        options = ranks, given, f"group-{name}", seconds(timeout)
        handle = met(api.group_split, parent._handle, *options)
        found = _groups.others[name] = ProcessGroup(
            handle,
            asked,
            name,
            timeout,
            parent._trusted,
            group_desc or f"{parent.group_desc}:split",
        )
    return found
