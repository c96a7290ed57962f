"""How a job's group is made and left, and which backends there are."""

import atexit
import os

from .._errors import DistNetworkError, FileError
from .._gen import api
from .._tensor import before_backward
from . import _group_calls, _mpi  # noqa: F401, the former gives groups their methods
from ._backend import Backend
from ._group import (
    ProcessGroup,
    _groups,
    default_timeout,
    is_no_member,
    seconds,
)
from ._interrupt import hear
from ._meeting import met
from ._place import tell_place
from ._reach import is_loopback, means_loopback, warn_of_no_key
from .rendezvous import own_schemes, rendezvous, way_of


def _host_of(store):
    """Where a store's table is; None for one that only this machine reaches."""
    while (inner := getattr(store, "underlying_store", None)) is not None:
        store = inner
    return getattr(store, "_host", None)


def _plain(host):
    return host.strip("[]").lower()


def _meeting_place(init_method):
    """The host whose port ranks meet at; of a file this machine."""
    host = "localhost"
    if init_method.startswith("env://"):
        host = os.environ.get("MASTER_ADDR", "")
    elif init_method.startswith("tcp://"):
        host = init_method[6:].split("?")[0].rpartition(":")[0]
    return _plain(host)


def _on_this_machine(init_method, store):
    """Whether ranks of another machine could not have come. A file counts as this machine's, as
    file:// and as FileStore: who can write to it, over a network as well, is trusted."""
    if store is None:
        host = _meeting_place(init_method)
    else:
        host = _plain(_host_of(store) or "localhost")
    return is_loopback(host) or means_loopback(host)


def _bound(device_id):
    """The device of this rank, where it is named."""
    from .._types import device

    if device_id is None or isinstance(device_id, device):
        return device_id
    if isinstance(device_id, int):
        return device("cuda", device_id)
    raise TypeError(
        f"init_process_group: expected device_id as a torch.device or an int, got {device_id!r}"
    )


def _found(init_method, backend, *options):
    """The job's group. MPI is begun on the thread that ends it."""
    meet = (lambda call, *given: call(*given)) if backend == "mpi" else met
    try:
        return meet(api.group_init, init_method, backend, *options)
    except FileError as error:
        if init_method.startswith("file://"):
            raise
        raise DistNetworkError(str(error)) from None  # torch's class for a port that is taken


def init_process_group(backend=None, init_method=None, timeout=None, world_size=-1, rank=-1,
                       store=None, group_name="", pg_options=None, device_id=None, _ranks=None,
                       enable_reconfigure=False):  # fmt: skip
    """Makes the default group: all ranks of the job call it, and it returns when all have come.

    `init_method` says how they find each other: `env://` (the default; MASTER_ADDR, MASTER_PORT,
    RANK and WORLD_SIZE of the environment), `tcp://host:port` or `file:///path`; or they have a
    `store`."""
    if _groups.world is not None:
        raise ValueError("trying to initialize the default process group twice!")
    if store is not None and init_method is not None:
        raise AssertionError("Cannot specify both init_method and store.")
    given = "" if backend is None else str(backend).lower()
    timeout = default_timeout(given) if timeout is None else timeout
    limit, device = seconds(timeout), _bound(device_id)
    if given == "mpi":
        _mpi.look_beside_python()
    if init_method is not None:
        way_of(init_method)
    if (init_method or "").partition("://")[0] in own_schemes:
        store, rank, world_size = next(rendezvous(init_method, rank, world_size, timeout=timeout))
        store.set_timeout(timeout)
    if store is None:
        init_method = init_method or "env://"
        handle = _found(init_method, given, limit, int(rank), int(world_size))
        launched = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"  # it holds the store
        if given == "mpi":
            _mpi.share_key(handle)
        elif api.group_rank(handle) == 0 and api.group_size(handle) > 1 and not launched:
            warn_of_no_key(_meeting_place(init_method), api.group_size(handle))
    else:
        if rank < 0 or world_size < 1:
            raise AssertionError(
                "init_process_group: with a store, rank and world_size must be given, but got "
                f"rank={rank} and world_size={world_size}"
            )
        table = store._table()
        handle = met(api.group_new, table, int(rank), int(world_size), given, "", limit)
    trusted = api.group_size(handle) == 1 or _on_this_machine(init_method, store)
    _groups.world = ProcessGroup(
        handle, given or "undefined", group_name or "0", timeout, trusted, "default_pg", device
    )
    _groups.count = 1
    if api.group_size(handle) > 1 and tell_place not in before_backward:
        before_backward.append(tell_place)  # backward passes reduce gradients
    hear()
    atexit.register(_leave)


def _leave():
    """Says goodbye, so that nobody misses this process. It waits for nobody, but for what is under
    way on GPUs."""
    atexit.unregister(_leave)
    if _groups.world is not None:
        handle = _groups.world._handle
        _groups.clear()
        before_backward[:] = (call for call in before_backward if call is not tell_place)
        api.group_leave(handle)
        for forget in after_leaving:
            forget()


after_leaving = []  # what forgets that there was a job
before_destroying = []  # what waits for work that goes on in groups, in threads of this process


def destroy_process_group(group=None):
    """Ends one group, or the default one and with it all. It waits for no other rank, but for what
    is under way on GPUs and a checkpoint that this one is saving in the background."""
    if is_no_member(group):
        return
    if _groups.world is None:
        raise AssertionError("Process group cannot be None")
    for wait in before_destroying:
        wait()
    if group is None or group is _groups.world:
        _leave()
        return
    name = getattr(group, "group_name", None)
    if _groups.others.get(name) is not group:
        raise ValueError("Invalid process group specified")
    del _groups.others[name]
    group._end()


def is_available():
    """Whether this package can be used at all."""
    return True


def is_initialized():
    """Whether the default group exists."""
    return _groups.world is not None


def is_backend_available(backend):
    """Whether a backend's library is found, and there are devices for it."""
    return api.backend_is_available(str(backend).lower())


def is_gloo_available():
    """Whether Gloo's library is found."""
    return api.backend_is_available("gloo")


def is_nccl_available():
    """Whether NCCL's library is found, and there are GPUs; of simulated ones, Gloo does it."""
    return api.backend_is_available("nccl")


def is_mpi_available():
    """Whether an MPI library is found."""
    _mpi.look_beside_python()
    return api.backend_is_available("mpi")


def is_ucc_available():
    """UCC is unsupported."""
    return False


is_xccl_available = is_ucc_available


def is_torchelastic_launched():
    """Whether a launcher started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def get_default_backend_for_device(device):
    """The backend of a kind of device where none is named."""
    kind = str(device).split(":")[0]
    found = Backend.default_device_backend_map.get(kind)
    if found is None:
        raise ValueError(f"Default backend not registered for device : {device}")
    return found
