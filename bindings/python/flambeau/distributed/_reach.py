"""Who can reach a job: whether a host is this machine alone, and a warning where a store that
others reach has no key by which it knows its own processes."""

import os
import socket

from .._deprecated import warn_once

KEY = "FLAMBEAU_JOB_KEY"


def is_loopback(host):
    """Whether a host is this machine alone, as it is written."""
    return host in ("localhost", "::1") or host.startswith("127.")


def means_loopback(host):
    """Whether a name stands for this machine alone, as its own does where it has no other address.
    An address that other machines reach does not count, though it is this one's: a rank of theirs
    could have come."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM) if host else []
    except (OSError, UnicodeError):
        return False
    return bool(found) and all(is_loopback(address[0]) for *_, address in found)


def warn_of_no_key(host, size, listen=None):
    """Says once that the store that is made at a host takes in whoever reaches it. One of this
    machine by its name listens to others, unless there are none, or it is told where to listen."""
    place, is_told = listen or host, bool(listen)
    alone = is_loopback(place) or (is_told or size == 1) and means_loopback(place)
    if os.environ.get(KEY) or alone:
        return
    warn_once(
        f"the job's store listens at {place}, beyond this machine, and has no key: whoever reaches "
        "its port is taken in. Make one with `python -c 'import secrets; "
        f"print(secrets.token_hex(32))'` and set {KEY} to it for all ranks before they start; the "
        "launcher (flambeau-run) does so by itself",
        KEY,
    )
