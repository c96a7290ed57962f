"""The nodes of a job and what their launchers agree on: who is there, which attempt runs, that it
failed somewhere, that all are done, and that one of them is lost.

All of it are keys of the job's store, which one launcher hosts and which no rank takes down. A
launcher asks for them by turns and never waits inside the store, so that a signal is heard. Each
watches the next one's pulse, so that a node that lost power is noticed as well."""

import contextlib
import json
import time
import uuid

from ...._errors import DistError
from ._errors import (
    RendezvousClosedError,
    RendezvousConnectionError,
    RendezvousError,
    RendezvousTimeoutError,
)

_POLL = 0.1
_FAREWELL = 10.0


class OneNode:
    """A job whose only node is this one: there is nobody to agree with."""

    rank = 0
    round = None  # of nodes that come and go: how often others have met before
    attempt = 0  # how often the job has started again before this node came

    def __init__(self, about, store, addr, port):
        self.nodes, self.store, self.addr, self.port = [about], store, addr, port

    def beat(self):
        """Says that this node is alive, and raises RendezvousError where another is not."""

    def failed(self, attempt):
        """Says that a rank of this node failed."""

    def failed_elsewhere(self, attempt):
        """Whether another node said so; raises RendezvousError where the job was ended."""
        return False

    def stopped(self, attempt, report, pause):
        """Says that no rank of the attempt is left here; the reports of all nodes when that is so
        everywhere."""
        return [report]

    def done(self, attempt):
        """Says that the ranks here succeeded; whether all others' did."""
        return True

    def changed(self):
        """What ended the attempt where that was a node that came or went; else None."""
        return None

    def meet_again(self, attempt, pause):
        """Waits until the nodes of the next attempt are there, and gives its number."""
        return attempt

    def end(self, reason):
        """Ends the job on all nodes."""

    def was_ended(self):
        """Whether a node has ended it."""
        return False

    def announce(self, problem):
        """Ends it for what this launcher dies of; errors of the rendezvous the others have, too."""
        if not isinstance(problem, RendezvousError):
            how = f"{type(problem).__name__}: {problem}"
            self.end(f"the launcher of node {self.rank} ended by {how}")

    def leave(self):
        """The last call."""
        self.store = None


class SeveralNodes(OneNode):
    """A job with further nodes. `rank` is this one's, or None where it goes by arrival."""

    def __init__(self, about, store, hosting, where, rank, size, run_id, patience):
        super().__init__(about, store, *where)
        self.rank, self.size, self._hosting, self._patience = rank, size, hosting, patience
        self._prefix, self._about = f"launcher/{run_id}/", about
        self._lost = None
        self._next_beat, self._count, self._seen, self._since = 0.0, 0, None, time.monotonic()

    def meet(self, timeout, pause):
        """Waits until all nodes are there. `pause(seconds)` raises where this launcher is to
        end."""
        self._take_rank()
        end = time.monotonic() + timeout
        there = {}
        while len(there) < self.size:
            self._ended()
            for rank in range(self.size):
                if rank not in there and self._has(f"node/{rank}"):
                    there[rank] = json.loads(self._get(f"node/{rank}"))
                    self._compare(rank, there[rank])
            if len(there) < self.size:
                self._wait_for(there, end, timeout, pause)
        self.nodes = [there[rank] for rank in range(self.size)]
        self._since = time.monotonic()

    def _wait_for(self, there, end, timeout, pause):
        if time.monotonic() > end:
            missing = [r for r in range(self.size) if r not in there]
            reason = (
                f"after {timeout:g} s {len(missing)} of {self.size} nodes have not come: node rank "
                f"{', '.join(map(str, missing))}\n  start the same command there, with --nnodes "
                f"{self.size} and the endpoint {self.addr}:{self.port}"
            )
            self.end(reason)
            raise RendezvousTimeoutError(reason)
        pause(_POLL)

    def _compare(self, rank, other):
        """All nodes need the same of what the job does as a whole."""
        for name, option in (("size", "--nnodes"), ("max_restarts", "--max-restarts")):
            if self._about[name] != other[name]:
                reason = (
                    f"node {self.rank} ({self._about['host']}) was started with {option} "
                    f"{self._about[name]}, node {rank} ({other['host']}) with {option} "
                    f"{other[name]}: all need the same"
                )
                self.end(reason)
                raise RendezvousError(reason)

    def _take_rank(self):
        if self.rank is None:
            self.rank = 0 if self._hosting else self._ask(lambda s: s.add(self._key("arrived"), 1))
        if self.rank >= self.size:
            raise RendezvousClosedError(
                f"the job {self._about['run_id']!r} has its {self.size} nodes already"
            )
        mine = json.dumps({**self._about, "token": uuid.uuid4().hex})
        key = self._key(f"node/{self.rank}")
        there = self._ask(lambda s: s.compare_set(key, "", mine))
        if bytes(there) != mine.encode():
            other = json.loads(there)
            raise RendezvousClosedError(
                f"node rank {self.rank} is taken by {other['host']} (pid {other['pid']}); give "
                "each node its own --node-rank"
            )

    def _key(self, name):
        return self._prefix + name

    def _ask(self, question):
        try:
            return question(self.store)
        except (DistError, OSError) as problem:
            raise RendezvousConnectionError(
                f"the job's store at {self.addr}:{self.port} does not answer, so the launcher "
                f"that hosts it is gone: {problem}"
            ) from problem

    def _has(self, name):
        return self._ask(lambda s: s.check([self._key(name)]))

    def _get(self, name):
        return self._ask(lambda s: s.get(self._key(name)))

    def _set(self, name, value=""):
        self._ask(lambda s: s.set(self._key(name), value))

    def beat(self):
        now = time.monotonic()
        if now < self._next_beat:
            return
        self._next_beat = now + self._patience / 5
        self._count += 1
        self._set(f"beat/{self.rank}", str(self._count))
        watched = (self.rank + 1) % self.size
        seen = self._get(f"beat/{watched}") if self._has(f"beat/{watched}") else None
        if seen != self._seen:
            self._seen, self._since = seen, now
        elif now - self._since > self._patience:
            reason = (
                f"node {watched} ({self.nodes[watched]['host']}) is lost: its launcher has not "
                f"been heard of for {now - self._since:.0f} s"
            )
            self._lost = watched
            self.end(reason)
            raise RendezvousError(reason)

    def failed(self, attempt):
        self._set(f"{attempt}/failed")

    def failed_elsewhere(self, attempt):
        self._ended()
        return self._has(f"{attempt}/failed")

    def _ended(self):
        if self._has("ended"):
            raise RendezvousClosedError(self._get("ended").decode())

    def was_ended(self):
        return self._has("ended")

    def _all(self, attempt, what):
        return all(self._has(f"{attempt}/{what}/{r}") for r in range(self.size))

    def stopped(self, attempt, report, pause):
        self._set(f"{attempt}/stopped/{self.rank}", json.dumps(report))
        while not self._all(attempt, "stopped"):
            self.beat()
            self._ended()
            pause(_POLL)
        reports = [self._get(f"{attempt}/stopped/{r}") for r in range(self.size)]
        return [json.loads(r) for r in reports]

    def done(self, attempt):
        self._set(f"{attempt}/done/{self.rank}")
        return self._all(attempt, "done")

    def end(self, reason):
        with contextlib.suppress(RendezvousError):
            self._ask(lambda s: s.compare_set(self._key("ended"), "", reason))

    def leave(self):
        """A host waits for those that still read how the job ended, and for nobody else."""
        with contextlib.suppress(RendezvousError):
            self._set(f"left/{self.rank}")
            end = time.monotonic() + _FAREWELL
            while self._hosting and time.monotonic() < end and self._others_are_here():
                time.sleep(_POLL)
        super().leave()

    def _others_are_here(self):
        return any(
            self._has(f"node/{r}") and not self._has(f"left/{r}")
            for r in range(self.size)
            if r not in (self.rank, self._lost)
        )
