"""Ports that are free now, and stores at them."""

import datetime
import socket

from ..._stores import TCPStore

__all__ = ["create_c10d_store", "get_free_port", "get_socket_with_port"]


def get_socket_with_port():
    """A socket that is bound to a free port of every interface; it holds the port until closed."""
    problem = None
    for family, host in ((socket.AF_INET6, "::"), (socket.AF_INET, "0.0.0.0")):
        try:
            bound = socket.socket(family, socket.SOCK_STREAM)
        except OSError as error:  # no IPv6 here
            problem = error
            continue
        try:
            if family == socket.AF_INET6:
                bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            bound.bind((host, 0))
            return bound
        except OSError as error:
            bound.close()
            problem = error
    raise RuntimeError("Failed to create a socket") from problem


def get_free_port():
    """A port that nobody uses now; another process may take it before you do."""
    with get_socket_with_port() as bound:
        return bound.getsockname()[1]


def create_c10d_store(is_server, server_addr, server_port=-1, world_size=1, timeout=600,
                      wait_for_workers=True, retries=3, use_libuv=None):  # fmt: skip
    """A store of a job; of one process at a port that is free where none is given. `retries` counts
    for nothing: the system chooses the port as the store is made."""
    if server_port == -1 and world_size > 1:
        raise ValueError(
            "server_port must be specified when world_size > 1, got "
            f"server_port={server_port}, world_size={world_size}"
        )
    port = 0 if server_port == -1 else server_port
    limit = datetime.timedelta(seconds=timeout)
    return TCPStore(server_addr, port, world_size, is_server, limit, wait_for_workers)
