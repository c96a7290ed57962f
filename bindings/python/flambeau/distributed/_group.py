"""Process groups as objects, which of them there are, and what they say of themselves. The default
group is the whole job; the ranks that programs name are those of the job."""

import datetime
import os
import queue
import threading

from .._deprecated import warn
from .._gen import api
from ._backend import BackendConfig

default_pg_timeout = datetime.timedelta(minutes=30)
_NCCL_TIMEOUT = datetime.timedelta(minutes=10)


class ProcessGroup:
    """A group of ranks that call the same collectives in the same order; `init_process_group` and
    `new_group` make it."""

    def __init__(self, handle, backend, name, timeout, trusted, desc="undefined", device=None):
        self._handle, self._backend = handle, backend
        self._rank, self._size = api.group_rank(handle), api.group_size(handle)
        self._ranks = [api.group_world_rank(handle, r) for r in range(self._size)]
        self._timeout = timeout
        self._trusted = trusted  # every rank is on this machine
        self._collected = None  # works of a block that waits for them together
        self._watched = None  # works that somebody wants to be told of
        self._object_calls = {}  # how many there were by kind
        self.group_name, self.group_desc, self.bound_device_id = name, desc, device

    def rank(self):
        """This process in the group."""
        return self._rank

    def size(self):
        """The number of ranks."""
        return self._size

    def name(self):
        """The backend."""
        return self._backend

    def _get_backend_name(self):
        return self._backend

    def _watch(self, work, then):
        """Calls `then(work)` on a thread of the group's own when the work has ended."""
        if self._watched is None:
            self._watched = queue.SimpleQueue()
            thread = threading.Thread(target=_wait_for_each, args=(self._watched,), daemon=True)
            thread.start()
        self._watched.put((work, then))

    def _end(self):
        if self._watched is not None:
            self._watched.put(None)
        self._handle = None


def _wait_for_each(works):
    while (entry := works.get()) is not None:
        work, then = entry
        then(work)


class _World:
    """The default group, by torch's two names for it; None where there is none."""

    def __get__(self, owner, kind=None):
        return _groups.world

    def __set__(self, owner, group):
        _groups.world = group


class _Member(type):
    WORLD = _World()


class GroupMember(metaclass=_Member):
    """What `new_group` returns on ranks that are not in the group: programs compare by `is`."""

    NON_GROUP_MEMBER = -100


class _Groups:
    """All groups of this process, and the default one as `group.WORLD`."""

    WORLD = _World()

    def __init__(self):
        self.world = None
        self.count = 0  # of groups, the same on all ranks: it names the next one
        self.of_members = {}  # the same of groups that only their members make, by their ranks
        self.others = {}  # by name
        self.outside = None  # ranks of the last group that was made without this rank

    def clear(self):
        for group in (self.world, *self.others.values()):
            if group is not None:
                group._end()
        self.__init__()


group = _groups = _Groups()


def world():
    """The default group."""
    found = _groups.world
    if found is None:
        raise ValueError(
            "Default process group has not been initialized, please make sure to call "
            "init_process_group."
        )
    return found


def is_no_member(asked):
    """Whether this rank got no group from `new_group`."""
    return isinstance(asked, int) and asked == GroupMember.NON_GROUP_MEMBER


def group_of(asked, what):
    """The group asked for, or the default one; None, with torch's warning, on a rank outside."""
    if asked is None:
        return _groups.world or world()
    if asked.__class__ is ProcessGroup and asked._handle is not None:
        return asked
    if is_no_member(asked):
        rank = world().rank()
        warn(f"Running {what} on global rank {rank} which does not belong to the given group.")
        return None
    world()
    raise ValueError(
        f"Process group {asked} is not initialized in the world group map. Please initialize the "
        "group first."
    )


def member_of(asked, what):
    """The group asked for, or the default one; an error on a rank outside."""
    if is_no_member(asked):
        raise ValueError(f"{what}: this rank is not in the group; call it on its members")
    return group_of(asked, what)


def root_of(group, global_rank, group_rank, default=None):
    """A rank that a call names, as one of the group."""
    if group_rank is not None:
        if global_rank is not None:
            raise ValueError("Can't specify both group_rank and global_rank")
        return group_rank
    if global_rank is None:
        if default is None:
            raise ValueError("Must specify global_rank or group_rank")
        return default
    return global_rank if group is _groups.world else get_group_rank(group, global_rank)


def seconds(timeout):
    """A timeout as programs give it, in seconds."""
    if not isinstance(timeout, datetime.timedelta):
        raise TypeError(
            f"Expected timeout argument to be of type datetime.timedelta, got {timeout}"
        )
    return timeout.total_seconds()


def default_timeout(backend):
    """torch's, by the backend."""
    return _NCCL_TIMEOUT if backend == "nccl" else default_pg_timeout


def _registered(asked):
    if asked is None:
        return world()
    if asked.__class__ is ProcessGroup and asked._handle is not None:
        return asked
    return None


def get_rank(group=None):
    """This process in the group; -1 where it is not in it."""
    world()
    if is_no_member(group):
        return -1
    found = _registered(group)
    if found is None:
        raise ValueError(
            f"Group {group} is not registered, please create group with "
            "torch.distributed.new_group API"
        )
    return found._rank


def get_world_size(group=None):
    """The number of ranks of the group; -1 where this process is not in it."""
    world()
    if is_no_member(group):
        return -1
    return group_of(group, "get_world_size")._size


def get_backend(group=None):
    """What the group was made with."""
    found = _registered(group)
    if found is None:
        raise ValueError("Invalid process group specified")
    return found._backend


def get_backend_config(group=None):
    """The same by kind of device."""
    return str(BackendConfig(get_backend(group)))


def _ranks_in(group, what):
    """The ranks of a group; of NON_GROUP_MEMBER, as torch has it, those of the last group that was
    made without this rank."""
    if is_no_member(group) and _groups.outside is not None:
        return _groups.outside
    return member_of(group, what)._ranks


def get_process_group_ranks(group):
    """The ranks of a group, as ranks of the job; of GroupMember.NON_GROUP_MEMBER those of the last
    group that was made without this rank."""
    return list(_ranks_in(group, "get_process_group_ranks"))


def get_group_rank(group, global_rank):
    """The rank in `group` of a rank of the job."""
    ranks = _ranks_in(group, "get_group_rank")
    if global_rank not in ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return ranks.index(global_rank)


def get_global_rank(group, group_rank):
    """The rank in the job of a rank of `group`."""
    ranks = _ranks_in(group, "get_global_rank")
    if not 0 <= group_rank < len(ranks):
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return ranks[group_rank]


def get_pg_count():
    """How many groups there are."""
    return len(_groups.others) + (_groups.world is not None)


def get_node_local_rank(fallback_rank=None):
    """This process on its machine, as the launcher says it."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        "LOCAL_RANK is not in the environment: start the program with the launcher, or give "
        "fallback_rank=0 where one process is all"
    )


def set_timeout(timeout, group=None):
    """Changes how long each further call in the group may take."""
    found = group_of(group, "set_timeout")
    if found is not None:
        api.group_set_timeout(found._handle, seconds(timeout))
        found._timeout = timeout
