"""A directory of snapshots, each a checkpoint of its own in `step-<number>`. The newest are kept;
removing one first makes it invalid, so that none is ever half there, and takes only files that are
a checkpoint's."""

import contextlib
import os
import re

from ..checkpoint import _files, _index

_NAME = re.compile(r"step-(\d{9,})")


def path_of(folder, step):
    """Where the snapshot of a step is."""
    return os.path.join(folder, f"step-{step:09}")


def _listed(folder):
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    return sorted(int(match[1]) for match in map(_NAME.fullmatch, names) if match)


def _is_whole(folder, step):
    return os.path.exists(os.path.join(path_of(folder, step), _index.NAME))


def whole(folder):
    """The steps of which there are snapshots, the newest first."""
    return [step for step in reversed(_listed(folder)) if _is_whole(folder, step)]


def prune(folder, newest, keep):
    """Removes all but the newest, as far as that is possible: what is older, later ones, which an
    earlier run left that was not gone on from, and what never became whole."""
    kept = [step for step in whole(folder) if step <= newest][:keep]
    for step in _listed(folder):
        if step not in kept:
            with contextlib.suppress(OSError):
                _remove(path_of(folder, step))


def _remove(path):
    names = os.listdir(path)
    if _index.NAME in names:
        os.unlink(os.path.join(path, _index.NAME))
        _files.flush_folder(path)
    for name in names:
        if _index.FILE.fullmatch(name) or _index.PART.fullmatch(name):
            os.unlink(os.path.join(path, name))
    os.rmdir(path)
