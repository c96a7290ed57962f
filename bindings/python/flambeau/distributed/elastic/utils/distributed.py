"""Ports that are free now."""

import socket

__all__ = ["get_free_port", "get_socket_with_port"]


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
