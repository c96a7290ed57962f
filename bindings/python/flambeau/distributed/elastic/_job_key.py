"""The key by which the processes of a job know each other: their store and the processes take
messages from nobody else. Where a job has several nodes all need the same one, from a file or the
environment."""

import contextlib
import os
import secrets

_KEY = "FLAMBEAU_JOB_KEY"
HOW_TO_MAKE_A_KEY = (
    '(umask 077; python3 -c "import secrets; print(secrets.token_hex(32))" > job.key)'
)
_HOW = (
    f"{HOW_TO_MAKE_A_KEY}\n"
    "  copy job.key to every node and give --job-key-file job.key, or set FLAMBEAU_JOB_KEY to what "
    "it holds"
)


@contextlib.contextmanager
def job_key(path, n_nodes):
    """Within the block the environment has the job's key: the one that is there, that of a file,
    or for one node one that nobody else knows."""
    before = os.environ.get(_KEY)
    key = _read(path) if path else before
    if not key:
        if n_nodes > 1:
            raise ValueError(
                "a job on several nodes needs a key that all nodes share: its store and its "
                f"processes take messages from nobody else. Make one by\n  {_HOW}"
            )
        key = secrets.token_hex(32)
    os.environ[_KEY] = key
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(_KEY, None)
        else:
            os.environ[_KEY] = before


def _read(path):
    try:
        with open(path) as file:
            key = file.read().strip()
    except FileNotFoundError as problem:
        raise ValueError(f"--job-key-file: {problem}; make a key by\n  {_HOW}") from None
    if not key:
        raise ValueError(f"--job-key-file: {path} is empty; make a key by\n  {_HOW}")
    return key
