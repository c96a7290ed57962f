"""`torch.distributed.rendezvous`: how the processes of a job find each other, by a URL, as a store
and the rank and number of each; and ways of a program's own, which `init_process_group` takes
too."""

import numbers
import os
import sys
import types
from urllib.parse import parse_qsl, urlencode, urlparse, urlunparse

from ._group import default_pg_timeout
from ._stores import FileStore, PrefixStore, TCPStore

__all__ = ["register_rendezvous_handler", "rendezvous"]


def register_rendezvous_handler(scheme, handler):
    """Has `handler(url, **kwargs)` answer for URLs that begin with `scheme://`: a generator of
    (store, rank, world_size)."""
    if scheme in _ways:
        raise RuntimeError(f"Rendezvous handler for {scheme}:// already registered")
    _ways[scheme] = handler
    own_schemes.add(scheme)


def rendezvous(url, rank=-1, world_size=-1, **kwargs):
    """An iterator with one (store, rank, world_size)."""
    if not isinstance(url, (str, bytes)):
        raise RuntimeError(f"`url` must be a string. {type(url)}: {url}")
    for name, value in (("rank", rank), ("world_size", world_size)):
        if not isinstance(value, numbers.Integral):
            raise RuntimeError(f"`{name}` must be an integer. {value}")
    url = url.decode() if isinstance(url, bytes) else url
    parts = urlparse(url)
    query, given = dict(parse_qsl(parts.query)), {"rank": rank, "world_size": world_size}
    given = {name: value for name, value in given.items() if value != -1}
    if given:
        if {"rank", "world_size"} & query.keys():
            raise AssertionError(
                f"The url: {url} has node-specific arguments(rank, world_size) already."
            )
        url = urlunparse(parts._replace(query=urlencode(query | given)))
    return way_of(url)(url, **kwargs)


def way_of(url):
    """What answers for URLs of that scheme; an error where nothing does."""
    scheme = urlparse(url).scheme
    if scheme not in _ways:
        raise RuntimeError(f"No rendezvous handler for {scheme}://")
    return _ways[scheme]


def _numbers(way, url, environment):
    """The rank and the number of ranks, by the URL or the environment's names."""
    query, found = dict(parse_qsl(urlparse(url).query)), []
    for name, said in (("rank", "rank"), ("world_size", "world size")):
        if name not in query and not environment:
            raise _error(f"{way}:// rendezvous: {said} parameter missing")
        found.append(int(query[name] if name in query else _variable(name.upper())))
    return found


def _error(text):
    return ValueError(f"Error initializing torch.distributed using {text}")


def _variable(name):
    if not os.environ.get(name):
        raise _error(f"env:// rendezvous: environment variable {name} expected, but not set")
    return os.environ[name]


def _store(host, port, rank, size, timeout):
    """That of the launcher where it keeps one there, which has the keys of former starts of the
    job, too; else the first rank's."""
    launched = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    address = os.environ.get("MASTER_ADDR"), os.environ.get("MASTER_PORT")
    if launched and address == (host, str(port)):
        start = os.environ.get("TORCHELASTIC_RESTART_COUNT") or "0"
        nodes = os.environ.get("FLAMBEAU_ROUND")  # which of the launchers' meetings it is
        kept = TCPStore(host, port, size, False, timeout)
        return PrefixStore(f"/worker/attempt_{start}" + (f"/round_{nodes}" if nodes else ""), kept)
    return TCPStore(host, port, size, rank == 0, timeout, multi_tenant=True)


def _once(way, found):
    yield found
    raise RuntimeError(f"Unable to perform re-rendezvous using {way}:// method")


def _tcp(url, timeout=default_pg_timeout, **_):
    parts = urlparse(url)
    if not parts.hostname or parts.port is None:
        missing = "port number" if parts.hostname else "host"
        raise _error(f"tcp:// rendezvous: {missing} missing")
    rank, size = _numbers("tcp", url, False)
    store = _store(parts.hostname, parts.port, rank, size, timeout)
    yield from _once("tcp", (store, rank, size))


def _env(url, timeout=default_pg_timeout, **_):
    rank, size = _numbers("env", url, True)
    host, port = _variable("MASTER_ADDR"), int(_variable("MASTER_PORT"))
    yield from _once("env", (_store(host, port, rank, size, timeout), rank, size))


def _file(url, **_):
    path = urlparse(url).path
    if not path:
        raise _error("file:// rendezvous: path missing")
    rank, size = _numbers("file", url, False)
    yield from _once("file", (FileStore(path, size), rank, size))


_ways = {"tcp": _tcp, "env": _env, "file": _file}
own_schemes = set()  # those that a program has registered


class _Module(types.ModuleType):
    """`torch.distributed.rendezvous` is the function's name, too, where an import puts the
    module."""

    __call__ = staticmethod(rendezvous)


sys.modules[__name__].__class__ = _Module
