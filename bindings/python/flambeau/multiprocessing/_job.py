"""What processes that are started together share: a key, by which they know each other's messages
from those of other programs on the machine."""

import os
import secrets

_KEY = "FLAMBEAU_JOB_KEY"


def job_key():
    """The key of the environment; one that nobody else knows is put there where there is none, so
    that this process is of the job as well."""
    return os.environ.setdefault(_KEY, secrets.token_hex(32))


def take(key):
    """In a new process, which may come of a server that was started before the key was made."""
    os.environ.setdefault(_KEY, key)
