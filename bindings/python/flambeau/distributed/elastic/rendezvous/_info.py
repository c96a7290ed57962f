"""What nodes that have met know: the store that they share, who each is, and where the first one's
ranks are to meet."""

import socket
from dataclasses import dataclass
from typing import ClassVar

from ..utils.distributed import get_free_port

__all__ = ["RendezvousInfo", "RendezvousStoreInfo"]


@dataclass
class RendezvousStoreInfo:
    """The address and the port at which ranks meet."""

    MASTER_ADDR_KEY: ClassVar[str] = "MASTER_ADDR"
    MASTER_PORT_KEY: ClassVar[str] = "MASTER_PORT"
    master_addr: str
    master_port: int

    @staticmethod
    def build(rank, store, local_addr, server_port=None):
        """The first node's, told to all by the store: `local_addr`, else its name; `server_port`,
        else a port that is free there."""
        keys = RendezvousStoreInfo.MASTER_ADDR_KEY, RendezvousStoreInfo.MASTER_PORT_KEY
        if rank == 0:
            told = local_addr or socket.getfqdn(), str(server_port or get_free_port())
            for key, value in zip(keys, told):
                store.set(key, value)
        addr, port = (store.get(key).decode() for key in keys)
        return RendezvousStoreInfo(addr, int(port))


class RendezvousInfo:
    """A store, this node's rank, how many there are, and a RendezvousStoreInfo or None."""

    def __init__(self, store, rank, world_size, bootstrap_store_info):
        self._store, self._rank, self._world_size = store, rank, world_size
        self._bootstrap_store_info = bootstrap_store_info

    store = property(lambda self: self._store, doc="The store that the nodes share.")
    rank = property(lambda self: self._rank, doc="This node's number.")
    world_size = property(lambda self: self._world_size, doc="How many nodes there are.")
    bootstrap_store_info = property(
        lambda self: self._bootstrap_store_info, doc="Where ranks are to meet."
    )
