"""What a program gets for its parameters: a handler that an agent takes, or that meets the other
nodes itself. Nodes meet by `_join.py`, over `static` or `c10d`; a program's own ways are refused
where an agent is given them."""

import time
from collections.abc import Callable
from contextlib import nullcontext
from datetime import timedelta
from types import SimpleNamespace

from ..._stores import PrefixStore
from .._job_key import job_key
from ._errors import RendezvousClosedError, RendezvousStateError
from ._info import RendezvousInfo, RendezvousStoreInfo
from ._join import join
from ._parameters import RendezvousParameters

__all__ = ["RendezvousHandler", "RendezvousHandlerCreator", "RendezvousHandlerRegistry",
           "rendezvous_handler_registry"]  # fmt: skip


class RendezvousHandler:
    """How a job's nodes meet, as an agent takes it; `next_rendezvous` is for programs without."""

    def __init__(self, params):
        self._params, self._is_closed, self._nodes = params, False, None

    def get_backend(self):
        """The backend's name."""
        return self._params.backend

    def get_run_id(self):
        """The job's id."""
        return self._params.run_id

    use_agent_store = property(lambda self: True, doc="Whether ranks meet at the agent's store.")

    def is_closed(self):
        """Whether the job is over: here, or by a node that this one has met."""
        return self._is_closed or self._nodes is not None and self._nodes.was_ended()

    def set_closed(self):
        """Nobody is to meet any more: the nodes that it has met hear of it, and who would join."""
        self._is_closed = True
        if self._nodes is not None:
            self._nodes.end(
                f"the rendezvous of {self._params.run_id!r} was closed by node {self._nodes.rank}"
            )

    def shutdown(self):
        """The same, and leaves the nodes that it has met; True. Where the store is here, the others
        have ten seconds to leave first."""
        self.set_closed()
        nodes, self._nodes = self._nodes, None
        if nodes is not None:
            nodes.leave()
        return True

    def num_nodes_waiting(self):
        """0: an agent itself sees to nodes that come."""
        return 0

    def next_rendezvous(self):
        """Waits until the nodes are there: their store, this one's rank, how many there are, and
        where ranks may meet. Calls of the store take 60 s at most, or the setting `read_timeout`. A
        handler meets once; an agent lets nodes come and go."""
        reads = self._params.get_as_int("read_timeout", 60)
        if reads <= 0:
            raise ValueError("The read timeout must be a positive integer.")
        if self._is_closed:
            raise RendezvousClosedError(f"the rendezvous of {self._params.run_id!r} is closed")
        if self._nodes is not None:
            raise RendezvousStateError(
                f"the nodes of {self._params.run_id!r} have met: LocalElasticAgent(spec).run() has "
                "them meet again"
            )
        self._nodes = nodes = _met(self._params)
        store = PrefixStore(f"rendezvous/{self._params.run_id}", nodes.store)
        store.set_timeout(timedelta(seconds=reads))  # of its own: launchers wait less for a pulse
        at = RendezvousStoreInfo(nodes.addr, nodes.port)
        return RendezvousInfo(store, nodes.rank, len(nodes.nodes), at)


def _met(params):
    """The nodes of a program that runs no agent."""
    config = SimpleNamespace(
        min_nodes=params.min_nodes,
        max_nodes=params.max_nodes,
        nproc_per_node=1,
        max_restarts=0,
        role="",
        run_id=params.run_id,
        rdzv_endpoint=params.endpoint,
        rdzv_backend=params.backend,
        rdzv_configs=dict(params.config),
        local_addr=params.local_addr,
        shutdown_timeout=0,
    )
    several = params.max_nodes > 1  # which need a key; one node's processes are the program's own
    with job_key(None, params.max_nodes) if several else nullcontext():
        return join(config, time.sleep)


RendezvousHandlerCreator = Callable[[RendezvousParameters], RendezvousHandler]


class RendezvousHandlerRegistry:
    """What makes a handler, by the backend's name."""

    def __init__(self):
        self._creators = {}

    def register(self, backend, creator):
        """Has `creator(params)` make the handlers of a backend."""
        if not backend:
            raise ValueError("The rendezvous backend name must be a non-empty string.")
        known = self._creators.setdefault(backend, creator)
        if known != creator:
            raise ValueError(
                f"The rendezvous backend '{backend}' cannot be registered with '{creator}' as it "
                f"is already registered with '{known}'."
            )

    def create_handler(self, params):
        """The handler."""
        creator = self._creators.get(params.backend)
        if creator is None:
            raise ValueError(
                f"The rendezvous backend '{params.backend}' is not registered. Did you forget to "
                f"call `register`? There are {', '.join(sorted(self._creators))}."
            )
        handler = creator(params)
        if handler.get_backend() != params.backend:
            raise RuntimeError(
                f"The rendezvous backend '{handler.get_backend()}' does not match the requested "
                f"backend '{params.backend}'."
            )
        return handler


rendezvous_handler_registry = RendezvousHandlerRegistry()
for _name in ("c10d", "static"):
    rendezvous_handler_registry.register(_name, RendezvousHandler)
