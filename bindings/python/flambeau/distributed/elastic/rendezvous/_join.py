"""From a launcher's settings to the nodes of its job: hosts the job's store, or finds the one that
another launcher hosts, and waits for the others.

Backends: `static`, where node 0 hosts at the address that all were given, and `c10d`, where the
machine that has the endpoint's address does and ranks go by arrival."""

import os
import socket
import sys
import time
from datetime import timedelta

from ...._errors import DistError
from ..._stores import TCPStore
from ._elastic import ElasticNodes
from ._errors import RendezvousConnectionError, RendezvousTimeoutError
from ._nodes import OneNode, SeveralNodes
from .utils import is_this_machine, parse_rendezvous_endpoint

_PORTS = {"static": 29500, "c10d": 29400}
_QUIET, _AGAIN = (
    5.0,
    30.0,
)  # seconds until a launcher says that it waits, and until it says so again
_WORDS = {"0": False, "false": False, "no": False, "1": True, "true": True, "yes": True}


def join(config, pause):
    """The nodes of the job, all there. `pause(seconds)` waits, and raises where this launcher is
    to end."""
    if config.rdzv_backend not in _PORTS:
        raise ValueError(
            f"the rendezvous backend {config.rdzv_backend!r} is unsupported: use static or c10d"
        )
    host, port = parse_rendezvous_endpoint(config.rdzv_endpoint, _PORTS[config.rdzv_backend])
    settings, size = config.rdzv_configs, config.max_nodes
    about = {
        "host": config.local_addr or socket.gethostname(),
        "pid": os.getpid(),
        "nproc": config.nproc_per_node,
        "role": config.role,
        "size": size if config.min_nodes == size else f"{config.min_nodes}:{size}",
        "max_restarts": config.max_restarts,
        "run_id": config.run_id,
    }
    if size == 1:
        store = _serve(host, port if config.rdzv_endpoint else 0)
        return OneNode(about, store, host, store.port)
    if port == 0:
        raise ValueError("a job of several nodes needs an endpoint with a port, as node0:29500")
    timeout = _number(settings, "join_timeout", _number(settings, "timeout", 600))
    patience = _number(settings, "keep_alive_interval", 5) * _number(
        settings, "keep_alive_max_attempt", 3
    )
    if config.rdzv_backend == "static":
        if settings.get("rank") is None:
            raise ValueError(
                "the rendezvous backend static needs the node's rank: give rank= to "
                "RendezvousParameters, {'rank': ...} as rdzv_configs, or --node-rank"
            )
        rank = int(settings["rank"])
        if not 0 <= rank < size:
            raise ValueError(f"--node-rank {rank} is not in 0 to {size - 1} (--nnodes {size})")
        store = _serve(host, port) if rank == 0 else None
    else:
        rank, store = None, _serve_if_here(host, port, settings.get("is_host"))
    hosting = store is not None
    store = store or _connect(host, port, timeout, pause)
    store.set_timeout(timedelta(seconds=max(patience, 1)))
    where = config.local_addr if hosting and rank is None and config.local_addr else host
    place = about, store, hosting, (where, store.port)
    if config.min_nodes == size:
        nodes = SeveralNodes(*place, rank, size, config.run_id, patience)
    else:
        last_call = _number(settings, "last_call_timeout", 30)
        waits = last_call, last_call + config.shutdown_timeout
        nodes = ElasticNodes(*place, (config.min_nodes, size), config.run_id, patience, waits)
    try:
        nodes.meet(timeout, pause)
    except BaseException as problem:
        nodes.announce(problem)
        nodes.leave()
        raise
    return nodes


def _number(settings, name, default):
    try:
        return float(settings.get(name, default))
    except ValueError:
        raise ValueError(f"--rdzv-conf: {name}={settings[name]} is not a number") from None


def _serve_if_here(host, port, told):
    """The store, where this machine is to host it and no launcher beside this one does."""
    if told is not None:
        if str(told).lower() not in _WORDS:
            raise ValueError(f"--rdzv-conf: is_host={told} is neither true nor false")
        return _serve(host, port) if _WORDS[str(told).lower()] else None
    try:
        return _serve(host, port) if is_this_machine(host) else None
    except RendezvousConnectionError:
        return None


def _serve(host, port):
    """The job's store, in this process."""
    try:
        return TCPStore(host, port, None, True, timedelta(seconds=60), wait_for_workers=False)
    except (DistError, OSError) as problem:
        unknown = _unresolved(host)
        fix = "give another --master-port or --rdzv-endpoint, or 0 for a port that is free"
        if unknown:
            fix = (
                "give --master-addr (or --rdzv-endpoint) a name or an address of this machine by "
                "which the others reach it"
            )
        raise RendezvousConnectionError(
            f"the job's store cannot listen on {host}:{port}: {unknown or problem}\n  {fix}"
        ) from problem


def _connect(host, port, timeout, pause):
    """The store that another launcher hosts, or will host within `timeout` seconds."""
    began = time.monotonic()
    tell = began + min(_QUIET, timeout / 2)
    while True:
        try:
            return TCPStore(host, port, None, False, timedelta(seconds=1), wait_for_workers=False)
        except (DistError, OSError) as problem:
            last = problem
            if "FLAMBEAU_JOB_KEY" in str(problem):  # time does not mend it
                raise RendezvousConnectionError(str(problem)) from problem
        now = time.monotonic()
        if now > began + timeout:
            raise RendezvousTimeoutError(_nobody_hosts(host, port, timeout, last)) from last
        if now > tell:
            tell = now + _AGAIN
            why = _unresolved(host) or str(last).partition("\n")[0]
            print(
                f"flambeau.distributed.run: has waited {now - began:.0f} s, of {timeout:g}, for "
                f"the launcher that hosts the job's store at {host}:{port}: {why}",
                file=sys.stderr,
                flush=True,
            )
        pause(0.2)


def _nobody_hosts(host, port, timeout, last):
    why = _unresolved(host)
    fix = "start node 0, and look at the address, the port and the firewall"
    if why:
        fix = (
            "give --master-addr (or --rdzv-endpoint) the address of node 0, or add the name to "
            "this machine's /etc/hosts"
        )
    waited = f"for {timeout:g} s no launcher hosted the job's store at {host}:{port}"
    return f"{waited}: {why or last}\n  {fix}"


def _unresolved(host):
    """Why there is no address for a name; None where there is one."""
    try:
        socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError as problem:
        return f"cannot resolve {host}: {problem.strerror or problem}"
    return None
