"""One function for each of many names, each in a process of its own: what dies or never ends there
is a result like others. Processes are forks, so that libraries are imported once.
"""

from __future__ import annotations

import collections
import multiprocessing
import multiprocessing.connection
import time

PATIENCE = 600  # seconds for one name


class Died(Exception):
    """What ended a process before it had a result."""


def each(names, work, jobs, patience=PATIENCE):
    """(name, what `work(name)` returned, or Died) as they come, from at most `jobs` at once."""
    context = multiprocessing.get_context("fork")
    waiting, running = collections.deque(names), {}
    while waiting or running:
        while waiting and len(running) < jobs:
            name = waiting.popleft()
            receive, send = context.Pipe(duplex=False)
            process = context.Process(target=_report, args=(send, work, name))
            process.start()
            send.close()
            running[receive] = (name, process, time.monotonic() + patience)
        for receive in multiprocessing.connection.wait(running, timeout=1):
            name, process, _ = running.pop(receive)
            yield name, _ended(receive, process)
        for receive, (name, process, end) in list(running.items()):
            if time.monotonic() > end:
                process.kill()
                del running[receive]
                yield name, Died(f"not done after {patience} s")


def _report(send, work, name):
    send.send(work(name))


def _ended(receive, process):
    try:
        return receive.recv()
    except EOFError:
        process.join()
        return Died(f"the process ended with {process.exitcode}")
