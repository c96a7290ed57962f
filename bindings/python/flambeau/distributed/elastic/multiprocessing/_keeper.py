"""What outlives a launcher by a moment: when its standard input ends, it kills the process groups
that it was told of and that are still there.

The kernel ends what a launcher's main thread has started with it (`_tied`), even what is just being
started, but not what these have started in turn; and a launcher that is killed by SIGKILL can do
nothing itself. The keeper sees the end of a pipe, and knows whole groups. A launcher tells it
`+PID` when a group is made, and `-PID` before the group's number can belong to others; and `=PATH`
of a folder that is to go, too."""

import os
import shutil
import signal
import subprocess
import sys
import weakref


class Keeper:
    """The launcher's end. It stays quiet where the keeper is gone: the kernel's bond is left."""

    def __init__(self):
        reading, self._pipe = os.pipe()
        command = [sys.executable, "-I", "-S", os.path.abspath(__file__)]
        try:
            self._process = subprocess.Popen(
                command,
                stdin=reading,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except BaseException:
            os.close(self._pipe)
            raise
        finally:
            os.close(reading)
        _keepers.add(self)

    def add(self, pid):
        """A process that leads a group."""
        self._tell(f"+{pid}\n")

    def remove(self, pid):
        """The group is gone."""
        self._tell(f"-{pid}\n")

    def folder(self, path):
        """A folder to remove."""
        self._tell(f"={path}\n")

    def _tell(self, line):
        try:
            os.write(self._pipe, os.fsencode(line))
        except OSError:
            pass

    def close(self):
        """Ends the keeper, and what it still knows."""
        _keepers.discard(self)
        os.close(self._pipe)
        self._pipe = -1  # who tells it more writes to no other's descriptor
        self._process.wait()


_keepers = weakref.WeakSet()


def _in_forked_child():
    """The pipe ends with the launcher, and not with a function's process that is a fork of it."""
    for keeper in _keepers:
        os.close(keeper._pipe)
    _keepers.clear()


os.register_at_fork(after_in_child=_in_forked_child)


def main():
    """The keeper's end."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    groups, folders = set(), []
    for line in sys.stdin.buffer:
        if line[:1] == b"+":
            groups.add(int(line[1:]))
        elif line[:1] == b"-":
            groups.discard(int(line[1:]))
        else:
            folders.append(os.fsdecode(line[1:-1]))
    for pid in groups:
        for kill in os.killpg, os.kill:  # the latter for one that does not lead a group yet
            try:
                kill(pid, signal.SIGKILL)
                break
            except ProcessLookupError:
                pass
            except PermissionError:
                break
    for path in folders:
        shutil.rmtree(path, ignore_errors=True)


if __name__ == "__main__":
    main()
