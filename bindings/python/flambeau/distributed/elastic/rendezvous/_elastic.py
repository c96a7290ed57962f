"""Nodes that come and go (`--nnodes MIN:MAX`): the job runs in rounds, each with nodes of its own.

A round is closed when MAX nodes have come, or some time after MIN have; after a former round, as
soon as all that are left of it are there. One key of the store says who is in it, and another how
it ended: a rank failed, which counts as a restart, or a node came, left or was lost, which does
not. Whoever writes such a key first has said it for all, so that all nodes do the same. A round
is closed only after the former one has ended: nodes that come meanwhile wait for that, and those
that are more than MAX for one of the others to go."""

import contextlib
import json
import time
import uuid

from ._nodes import _FAREWELL, _POLL, SeveralNodes
from .api import RendezvousClosedError, RendezvousError, RendezvousTimeoutError


class ElasticNodes(SeveralNodes):
    """The nodes of the round that runs."""

    round = -1

    def __init__(self, about, store, hosting, where, limits, run_id, patience, waits):
        """`limits`: the least and the most nodes; `waits`: seconds in which more than the least may
        come to the first round, and to later ones, for which ranks have to be ended."""
        least, most = limits
        super().__init__(about, store, hosting, where, None, 0, run_id, patience)
        self._least, self._most, self._waits = least, most, waits
        self._about = {**about, "token": uuid.uuid4().hex, "hosting": hosting}
        self.nodes = []  # there is no round yet
        self._left, self._timeout = set(), 0  # tokens of the last round's that have not gone
        self._watching = None
        self._runs = False  # in a round that is closed

    def meet(self, timeout, pause):
        """Waits until this node is in a round that is closed."""
        self._timeout = timeout
        self._check_settings()
        found = None
        while found is None:
            self._arrive()
            members = self._wait_until_closed(pause)
            tokens = [node["token"] for node in members["nodes"]]
            found = tokens.index(self._about["token"]) if self._about["token"] in tokens else None
        self.rank, self.nodes, self.size = found, members["nodes"], len(tokens)
        self.attempt, self._runs = members["attempt"], True
        self._next_beat, self._watching = 0.0, None

    def meet_again(self, attempt, pause):
        """The same after a round; the number of restarts, as all nodes count them."""
        self.attempt = attempt
        lost = set(self._lost_ranks())
        self._left = {n["token"] for rank, n in enumerate(self.nodes) if rank not in lost}
        self._about["was"] = self.rank
        self.meet(self._timeout, pause)
        return self.attempt

    def _check_settings(self):
        mine = json.dumps({"--nnodes": self._about["size"], "--max-restarts": self._restarts()})
        said = bytes(self._ask(lambda s: s.compare_set(self._key("settings"), "", mine)))
        if said != mine.encode():
            raise RendezvousError(
                f"this node was started with other options than the job: {mine} and not "
                f"{said.decode()}; all nodes need the same"
            )

    def _restarts(self):
        return self._about["max_restarts"]

    def _of_round(self, name, number=None):
        return f"round/{self.round if number is None else number}/{name}"

    def _append(self, name, value):
        line = json.dumps(value) + "\n"
        self._ask(lambda s: s.append(self._key(name), line))

    def _lines(self, name):
        """What nodes have added under a name, in order: one call, however many nodes there are."""
        return (
            [json.loads(line) for line in self._get(name).splitlines()] if self._has(name) else []
        )

    def _arrive(self):
        """Comes to the first round that may be without nodes yet."""
        self.round, self._runs = self.round + 1, False
        while self._has(self._of_round("closed")):
            self.round += 1
        self._append(self._of_round("arrived"), {**self._about, "attempt": self.attempt})

    def _here(self, number):
        """The nodes that have come to a round and are there, in the order of their ranks: the one
        with the store, those of the last round, and others as they came."""
        gone = self._lines("gone")
        nodes = self._lines(self._of_round("arrived", number))
        nodes = [node for node in nodes if node["token"] not in gone]
        order = lambda node: (not node["hosting"], "was" not in node, node.get("was", 0))
        return sorted(nodes, key=order)

    def _wait_until_closed(self, pause):
        closed = self._of_round("closed")
        end = enough = None
        while not self._has(closed):
            self._ended()
            if self._has("finished"):
                raise RendezvousClosedError(f"the job {self._about['run_id']!r} has ended")
            now, here = time.monotonic(), self._here(self.round)
            if self.round and not self._has(self._of_round("end", self.round - 1)):
                end = enough = None  # the former round still runs
            else:
                end = end or now + self._timeout
                enough = (enough or now) if len(here) >= self._least else None
                if self._is_whole(here, enough, now):
                    self._close(here)
                elif now > end and enough is None:
                    self._give_up(len(here))
            if not self._has(closed):
                pause(_POLL)
        return json.loads(self._get(closed))

    def _is_whole(self, here, enough, now):
        if enough is None:
            return False
        if len(here) >= self._most or now - enough >= self._waits[self.round > 0]:
            return True
        self._left -= set(self._lines("gone"))
        return bool(self._left) and self._left <= {node["token"] for node in here}

    def _close(self, here):
        chosen = here[: self._most]
        attempt = max(node["attempt"] for node in chosen)
        said = json.dumps({"nodes": chosen, "attempt": attempt})
        self._ask(lambda s: s.compare_set(self._key(self._of_round("closed")), "", said))

    def _give_up(self, count):
        raise RendezvousTimeoutError(
            f"after {self._timeout:g} s there are {count} of at least {self._least} nodes\n  start "
            f"the same command on more, with --nnodes {self._about['size']} and the endpoint "
            f"{self.addr}:{self.port}"
        )

    def _end_round(self, kind, why=""):
        said = json.dumps({"kind": kind, "why": why})
        key = self._key(self._of_round("end"))
        return json.loads(bytes(self._ask(lambda s: s.compare_set(key, "", said))))["kind"]

    def _how_it_ended(self):
        name = self._of_round("end")
        return json.loads(self._get(name)) if self._has(name) else {"kind": None, "why": ""}

    def changed(self):
        how = self._how_it_ended()
        return how["why"] if how["kind"] == "changed" else None

    def _lost_ranks(self):
        return self._lines(self._of_round("lost"))

    def _lose(self, rank, why):
        self._append(self._of_round("lost"), rank)
        self._end_round("changed", why)

    def beat(self):
        """Says that this node is alive, and of the next one that is not that it is lost."""
        now = time.monotonic()
        if now < self._next_beat:
            return
        self._next_beat = now + self._patience / 5
        self._count += 1
        self._set(self._of_round(f"beat/{self.rank}"), str(self._count))
        lost = self._lost_ranks()
        others = ((self.rank + i) % self.size for i in range(1, self.size))
        watched = next((rank for rank in others if rank not in lost), None)
        name = self._of_round(f"beat/{watched}")
        seen = watched, self._get(name) if self._has(name) else None
        if seen != self._watching:
            self._watching, self._since = seen, now
        elif watched is not None and now - self._since > self._patience:
            self._lose(
                watched,
                f"node {watched} ({self.nodes[watched]['host']}) is lost: its launcher has not "
                f"been heard of for {now - self._since:.0f} s",
            )

    def failed(self, attempt):
        self._end_round("failed")

    def failed_elsewhere(self, attempt):
        """Whether the round has ended; a node that waits ends it where there is room."""
        self._ended()
        kind = self._how_it_ended()["kind"]
        if kind is None and self.size < self._most:
            waiting = self._here(self.round + 1)
            if waiting and not self._has(self._of_round("done")):
                host = waiting[0]["host"]
                kind = self._end_round("changed", f"a node ({host}) has come")
        return kind in ("failed", "changed")

    def done(self, attempt):
        name = self._of_round("done")
        if self.rank not in self._lines(name):
            self._append(name, self.rank)
        if len(self._lines(name)) < self.size or self._end_round("done") != "done":
            return False
        self.over()
        return True

    def stopped(self, attempt, report, pause):
        """The reports of the nodes that are left, where a rank has failed."""
        name = self._of_round("stopped")
        self._append(name, [self.rank, report])
        if self._how_it_ended()["kind"] != "failed":
            return []
        while True:
            reports, lost = dict(self._lines(name)), self._lost_ranks()
            # One that was taken for lost has not been waited for.
            if self.rank in lost or {*reports, *lost} >= set(range(self.size)):
                return list(reports.values())
            self.beat()
            self._ended()
            pause(_POLL)

    def over(self):
        """Tells nodes that wait that there will be no further round."""
        self._set("finished")

    def announce(self, problem):
        """A node that ends leaves the others the job, unless it has the store."""
        if isinstance(problem, RendezvousError):
            return
        why = f"ended by {type(problem).__name__}: {problem}"
        if self._hosting:
            self.end(f"the launcher of the node that has the job's store {why}")
        elif self._runs:
            with contextlib.suppress(RendezvousError):
                host = self._about["host"]
                self._lose(self.rank, f"node {self.rank} ({host}) has left, {why}")

    def leave(self):
        """The host waits for those that still read how the job ended, and for nobody else."""
        with contextlib.suppress(RendezvousError):
            self._append("gone", self._about["token"])
            end = time.monotonic() + _FAREWELL
            while self._hosting and time.monotonic() < end and self._others_are_here():
                time.sleep(_POLL)
        self.store = None

    def _others_are_here(self):
        gone, lost = self._lines("gone"), self._lost_ranks()
        nodes = [node for rank, node in enumerate(self.nodes) if rank not in lost]
        nodes += self._here(self.round) + self._here(self.round + 1)
        return any(node["token"] not in gone for node in nodes)
