"""The default process group: how it is asked for, and what it says of itself."""

import os

_BACKENDS = ("gloo", "nccl", "mpi", "ucc", "xccl")


class ProcessGroup:
    """A group of ranks; here always the one of this process."""

    def __init__(self, backend, name):
        self._backend, self.group_name = backend, name

    def rank(self):
        return 0

    def size(self):
        return 1

    def name(self):
        return self._backend


class _Groups:
    """The default group, as `group.WORLD`."""

    world = None
    count = 0

    WORLD = property(lambda self: self.world)


group = _groups = _Groups()


def _of_environment(name):
    if name not in os.environ:
        raise ValueError(
            "Error initializing torch.distributed using env:// rendezvous: environment variable "
            f"{name} expected, but not set"
        )
    return os.environ[name]


def _rank_and_size(init_method, rank, world_size, store):
    """Rank and size as given, else as the environment says where the method is env://."""
    if store is None and (init_method is None or init_method.startswith("env://")):
        rank = int(_of_environment("RANK")) if rank == -1 else rank
        world_size = int(_of_environment("WORLD_SIZE")) if world_size == -1 else world_size
        _of_environment("MASTER_ADDR")
        _of_environment("MASTER_PORT")
    if rank < 0 or world_size < 1:
        raise ValueError(
            f"init_process_group needs a rank and a world_size, but got rank={rank} and "
            f"world_size={world_size}"
        )
    return rank, world_size


def init_process_group(backend=None, init_method=None, timeout=None, world_size=-1, rank=-1,
                       store=None, group_name="", pg_options=None, device_id=None):  # fmt: skip
    """Makes the default group. `world_size` must be 1: processes do not talk to each other in this
    version."""
    if _groups.world is not None:
        raise ValueError("trying to initialize the default process group twice!")
    name = "gloo" if backend is None else str(backend).lower()
    for part in name.split(","):
        if part.rsplit(":", 1)[-1] not in _BACKENDS:
            raise ValueError(f"Invalid backend: '{part}'. Expected one of: {', '.join(_BACKENDS)}")
    rank, world_size = _rank_and_size(init_method, rank, world_size, store)
    if world_size != 1:
        raise NotImplementedError(
            f"init_process_group: world_size={world_size} is unsupported; this version of flambeau "
            "runs a group of one process\n  set WORLD_SIZE=1 and RANK=0, or use nn.DataParallel "
            "for several devices of one process"
        )
    if rank != 0:
        raise ValueError(f"init_process_group: rank {rank} is not in a group of 1")
    _groups.world = ProcessGroup(name, group_name or "0")


def destroy_process_group(group=None):
    """Ends the default group."""
    if _groups.world is None:
        raise AssertionError("Process group cannot be None")
    if group is None or group is _groups.world:
        _groups.world = None


def member(asked):
    """The group asked for, or the default one."""
    if _groups.world is None:
        raise ValueError(
            "Default process group has not been initialized, please make sure to call "
            "init_process_group."
        )
    return _groups.world if asked is None else asked


def new_group(ranks=None, timeout=None, backend=None, **_):
    """A further group; only `[0]` can be its ranks."""
    world = member(None)
    if ranks is not None and list(ranks) != [0]:
        raise ValueError(f"new_group: ranks {list(ranks)} are not all in a group of 1")
    _groups.count += 1
    return ProcessGroup(backend or world.name(), str(_groups.count))


def get_rank(group=None):
    """0: this process is the only one."""
    return member(group).rank()


def get_world_size(group=None):
    """1."""
    return member(group).size()


def get_backend(group=None):
    """The name that the group was made with."""
    return member(group).name()


def get_group_rank(group, global_rank):
    """The rank in `group` of a rank of the default group."""
    check_rank("get_group_rank", global_rank)
    return global_rank


def get_process_group_ranks(group):
    """The ranks of a group."""
    member(group)
    return [0]


def check_rank(what, rank):
    """Refuses ranks that are not in the group."""
    if rank not in (None, 0):
        raise RuntimeError(f"{what}: invalid root rank: {rank}; the group has one rank, 0")


def is_available():
    """Whether this package can be used at all."""
    return True


def is_initialized():
    """Whether the default group exists."""
    return _groups.world is not None


def is_nccl_available():
    """NCCL carries no collective of a group of one."""
    return False


is_mpi_available = is_nccl_available


def is_gloo_available():
    """The name is accepted; a group of one needs no transport."""
    return True


def is_torchelastic_launched():
    """Whether a launcher started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ
