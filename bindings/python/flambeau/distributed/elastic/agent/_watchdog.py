"""The server of the ranks' timers (`elastic.timer`), beside each attempt of a job whose agent has
TORCHELASTIC_ENABLE_FILE_TIMER=1. A new one for each: an attempt's timers are none of the next's."""

import contextlib
import os
import shutil
import tempfile

from ..timer import FileTimerServer

TORCHELASTIC_ENABLE_FILE_TIMER = "TORCHELASTIC_ENABLE_FILE_TIMER"
TORCHELASTIC_TIMER_FILE = "TORCHELASTIC_TIMER_FILE"


@contextlib.contextmanager
def watchdog(run_id, keeper):
    """Within the block, the server; it is what the environment of each rank says of it. The user
    names its pipe, or it is in a folder that goes afterwards, by the keeper at the latest."""
    path, folder = os.environ.get(TORCHELASTIC_TIMER_FILE), None
    if os.environ.get(TORCHELASTIC_ENABLE_FILE_TIMER) != "1":
        yield {} if path is None else {TORCHELASTIC_TIMER_FILE: path}
        return
    if path is None:
        folder = tempfile.mkdtemp(prefix="flambeau_timers_")
        keeper.folder(folder)
        path = os.path.join(folder, "timers")
    try:
        server = FileTimerServer(path, run_id, 0.1)
        server.start()
        try:
            yield {TORCHELASTIC_TIMER_FILE: path}
        finally:
            server.stop()
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
