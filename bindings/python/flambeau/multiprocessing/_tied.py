"""A process that the kernel kills when the one that started it dies, however that dies. As a
program, `_tied.py PARENT COMMAND...`, it becomes another program that is tied so: between fork and
exec a launcher with threads may run no Python to arrange it.

The kernel's bond is to a thread. Only the main one lives as long as its process, so what another
one starts is not tied."""

import ctypes
import os
import signal
import sys
import threading

_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG
_prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None


def tie(parent, number=signal.SIGKILL):
    """In the child: dies by this signal with the thread that started it; at once, where `parent`
    is gone already."""
    if _prctl is None:
        return
    _prctl(_SET_PARENT_DEATH_SIGNAL, int(number), 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), number)


def outlives():
    """Whether the thread that calls lives as long as this process."""
    return threading.get_native_id() == os.getpid()


def command_of(command):
    """The command that runs `command` tied to this process, where that can be."""
    if _prctl is None or not outlives():
        return command
    return [sys.executable, "-I", "-S", os.path.abspath(__file__), str(os.getpid()), *command]


def main():
    """Becomes the program."""
    tie(int(sys.argv[1]))
    try:
        os.execvp(sys.argv[2], sys.argv[2:])
    except OSError as problem:
        print(f"cannot run {sys.argv[2]}: {problem}", file=sys.stderr)
        sys.exit(127 if isinstance(problem, FileNotFoundError) else 126)


if __name__ == "__main__":
    main()
