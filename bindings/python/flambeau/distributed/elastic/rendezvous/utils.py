"""Endpoints and settings as command lines spell them."""

import contextlib
import ipaddress
import re
import socket

__all__ = ["parse_rendezvous_config", "parse_rendezvous_endpoint"]


def parse_rendezvous_endpoint(endpoint, default_port):
    """Host and port of `host`, `host:port`, `[v6]` or `[v6]:port`; nothing is localhost."""
    endpoint = (endpoint or "").strip()
    if not endpoint:
        return "localhost", default_port
    with contextlib.suppress(ValueError):
        return str(ipaddress.IPv6Address(endpoint)), default_port
    found = re.fullmatch(r"(?:\[([\w.:%]+)\]|([\w.-]+))(?::(.*))?", endpoint)
    if found is None:
        raise ValueError(
            f"{endpoint!r} is no endpoint: give a host name or an address, and a port, as "
            "node0:29500, 10.0.0.1:29500 or [fd00::1]:29500"
        )
    host, port = found[1] or found[2], found[3]
    if port is None:
        return host, default_port
    if not port.isdecimal() or int(port) > 65535:
        raise ValueError(
            f"The port number of the rendezvous endpoint '{endpoint}' must be an integer between "
            "0 and 65535."
        )
    return host, int(port)


def parse_rendezvous_config(config_str):
    """Settings written as `key=value,key=value`."""
    config = {}
    for item in filter(None, config_str.strip().split(",")):
        key, _, value = (part.strip() for part in item.partition("="))
        if not key or not value:
            raise ValueError(
                f"--rdzv-conf {config_str!r}: {item!r} is not in the format <key>=<value>"
            )
        config[key] = value
    return config


def is_this_machine(host):
    """Whether one of the host's addresses is of this machine, where it can be listened on."""
    with contextlib.suppress(OSError):
        for family, kind, _, _, address in socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM):
            with contextlib.suppress(OSError), socket.socket(family, kind) as probe:
                probe.bind(address)
                return True
    return False
