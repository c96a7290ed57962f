"""Nodes that come and go (`--nnodes MIN:MAX`): the job runs in rounds, each with nodes of its own.

A round is closed when MAX nodes have come, or some time after MIN have; after a former round, as
soon as all that are left of it are there. One key of the store says who is in it, and another how
it ended: a rank failed, which counts as a restart, or a node came, left or was missed, which does
not. (A node that dies without a word is both, and its peers' ranks mostly fail first.) Whoever
writes such a key first has said it for all, so that all nodes do the same; what they do next, and
the count of restarts, follow from these keys alone. Nodes that come while a round runs wait for its
end, and those that are more than MAX for one of the others to go.

One node, the leader, closes rounds and misses the others; the others miss it, and the first that
does takes its place. It need not be in the round."""

import contextlib
import json
import time
import uuid

from ._errors import (
    RendezvousClosedError,
    RendezvousError,
    RendezvousGracefulExitError,
    RendezvousTimeoutError,
)
from ._nodes import _FAREWELL, _POLL, SeveralNodes
from ._pulses import Pulses

_OF_A_ROUND = "arrived", "lost", "done", "stopped"  # what nobody needs two rounds later


class ElasticNodes(SeveralNodes):
    """The nodes of the round that runs."""

    round = -1

    def __init__(self, about, store, hosting, where, limits, run_id, patience, waits):
        """`limits`: the least and the most nodes; `waits`: seconds in which more than the least may
        come to the first round, and to later ones, for which ranks have to be ended."""
        super().__init__(about, store, hosting, where, None, 0, run_id, patience)
        (self._least, self._most), self._waits, self._timeout = limits, waits, 0
        self._token = uuid.uuid4().hex
        self._about = {**about, "token": self._token, "hosting": hosting}
        self.nodes = []  # there is no round yet
        self._pulses = Pulses(self, self._token, patience)
        self._leads = False
        self._runs = False  # in a round that is closed
        self._last = -1, {"nodes": []}  # a round that is closed, as it was read

    def meet(self, timeout, pause):
        """Waits until this node is in a round that is closed."""
        self._timeout = timeout
        self._check_settings()
        found = None
        while found is None:
            self._arrive()
            self._wait_until_closed(pause)
            members = self._closed(self.round)
            tokens = [node["token"] for node in members["nodes"]]
            found = tokens.index(self._token) if self._token in tokens else None
        self.rank, self.nodes, self.size = found, members["nodes"], len(tokens)
        self.attempt, self._runs = members["attempt"], True

    def meet_again(self, attempt, pause):
        """The same after a round; the number of restarts, as all nodes count them."""
        self.meet(self._timeout, pause)
        return self.attempt

    def _check_settings(self):
        mine = json.dumps({"--nnodes": self._about["size"], "--max-restarts": self._restarts()})
        said = self._first("settings", mine)
        if said != mine:
            raise RendezvousError(
                f"this node was started with other options than the job: {mine} and not {said}; "
                "all nodes need the same"
            )

    def _restarts(self):
        return self._about["max_restarts"]

    def _of_round(self, name, number=None):
        return f"round/{self.round if number is None else number}/{name}"

    def _first(self, name, value, before=""):
        """Sets a key where it is as before; what it is then."""
        key = self._key(name)
        return bytes(self._ask(lambda s: s.compare_set(key, before, value))).decode()

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
        latest = int(self._get("latest")) if self._has("latest") else -1
        self.round, self._runs = max(self.round, latest) + 1, False
        while self._has(self._of_round("closed")):
            self.round += 1
        self._pulses.beat()
        self._append(self._of_round("arrived"), self._about)

    def _closed(self, number):
        """Who is in a round that is closed, which does not change."""
        if self._last[0] != number:
            self._last = number, json.loads(self._get(self._of_round("closed", number)))
        return self._last[1]

    def _wait_until_closed(self, pause):
        end = enough = None
        patience = self._timeout + self._waits[self.round > 0] - self._waits[0]
        while not self._has(self._of_round("closed")):
            self._ended()
            self.beat()
            former = self._former()
            now = time.monotonic()
            end = (end or now + patience) if former else None
            if former and (self._leads or now > end):
                here = self._here()
                enough = (enough or now) if len(here) >= self._least else None
                if enough is None and now > end:
                    self._give_up(len(here))
                if self._leads and enough and self._is_whole(here, former[0], now - enough):
                    self._close(here, *former)
                    continue
            pause(_POLL)

    def _former(self):
        """Who of a round that has ended is to come to this one, by rank, and how many restarts it
        will be after; None while that round still runs."""
        if not self.round:
            return [], 0
        before = self.round - 1
        kind = self._how_it_ended(before)["kind"]
        if kind is None:
            return None
        last = self._closed(before)
        attempt, run_id = last["attempt"] + (kind == "failed"), self._about["run_id"]
        if kind == "done":
            raise RendezvousGracefulExitError(f"the job {run_id!r} has succeeded without this node")
        if attempt > self._restarts():
            raise RendezvousClosedError(f"the job {run_id!r} has ended: a rank of it failed")
        lost = self._lost_ranks(before)
        return [n["token"] for rank, n in enumerate(last["nodes"]) if rank not in lost], attempt

    def _here(self):
        """The nodes that have come to this round and are there."""
        arrived = self._lines(self._of_round("arrived"))
        return [node for node in arrived if self._pulses.there(node["token"])]

    def _is_whole(self, here, former, waited):
        if waited >= self._waits[self.round > 0]:
            return True
        left = {token for token in former if self._pulses.there(token)}
        if left:
            return left <= {node["token"] for node in here}
        return len(here) >= self._most

    def _close(self, here, former, attempt):
        """Ranks go to the node with the store, those of the last round, and others as they came."""
        at = {token: rank for rank, token in enumerate(former)}
        here.sort(key=lambda node: (not node["hosting"], at.get(node["token"], len(at))))
        said = json.dumps({"nodes": here[: self._most], "attempt": attempt})
        if self._first(self._of_round("closed"), said) == said:
            self._set("latest", str(self.round))
            self._pulses.forget()
            self._tidy(self.round - 2)

    def _tidy(self, number):
        """Who closed it and how it ended stays: one that stood still since then has to find it."""
        gone = {self._key(self._of_round(name, number)) for name in _OF_A_ROUND}
        for key in self._ask(lambda s: s.list_keys()):
            of_a_rank = key.startswith("/worker/attempt_") and f"/round_{number}/" in key
            if key in gone or of_a_rank:
                self._ask(lambda s: s.delete_key(key))  # noqa: B023

    def _give_up(self, count):
        reason = (
            f"after {self._timeout:g} s there are {count} of at least {self._least} nodes\n  start "
            f"the same command on more, with --nnodes {self._about['size']} and the endpoint "
            f"{self.addr}:{self.port}"
        )
        if self._hosting:
            self.end(reason)
        raise RendezvousTimeoutError(reason)

    def _end_round(self, kind, why="", number=None):
        said = json.dumps({"kind": kind, "why": why})
        return json.loads(self._first(self._of_round("end", number), said))["kind"]

    def _how_it_ended(self, number=None):
        name = self._of_round("end", number)
        return json.loads(self._get(name)) if self._has(name) else {"kind": None, "why": ""}

    def changed(self):
        how = self._how_it_ended()
        return how["why"] if how["kind"] == "changed" else None

    def _lost_ranks(self, number=None):
        return self._lines(self._of_round("lost", number))

    def _lose(self, rank, why, number=None):
        self._append(self._of_round("lost", number), rank)
        self._end_round("changed", why, number)

    def beat(self):
        """Says that this node is alive, and sees to the others where it is the leader."""
        if not self._pulses.due():
            return
        self._pulses.beat()
        leader = self._first("leader", self._token)
        if leader != self._token:
            self._pulses.look([leader])
            if self._pulses.missed(leader):
                leader = self._first("leader", self._token, leader)
        self._leads = leader == self._token
        if self._leads:
            self._lead()

    def _lead(self):
        """Ends the round that runs where one of its nodes is missed, or where another waits and
        there is room."""
        number = self.round if self._runs else self.round - 1
        members = self._closed(number)["nodes"] if number >= 0 else []
        waiting = self._lines(self._of_round("arrived", number + 1))
        self._pulses.look([node["token"] for node in members + waiting])
        lost = self._lost_ranks(number)
        for rank, node in enumerate(members):
            why = None if rank in lost else self._pulses.missed(node["token"])
            if why:
                self._lose(rank, f"node {rank} ({node['host']}) {why}", number)
        if 0 < len(members) < self._most and not self._has(self._of_round("done", number)):
            come = next((n for n in waiting if self._pulses.there(n["token"])), None)
            if come:
                self._end_round("changed", f"a node ({come['host']}) has come", number)

    def failed(self, attempt):
        self._end_round("failed")

    def failed_elsewhere(self, attempt):
        self._ended()
        return self._how_it_ended()["kind"] in ("failed", "changed")

    def done(self, attempt):
        name = self._of_round("done")
        if self.rank not in self._lines(name):
            self._append(name, self.rank)
        return len(self._lines(name)) >= self.size and self._end_round("done") == "done"

    def stopped(self, attempt, report, pause):
        """The reports of the nodes that are left, where a rank has failed."""
        name = self._of_round("stopped")
        self._append(name, [self.rank, report])
        if self._how_it_ended()["kind"] != "failed":
            return []
        while True:
            reports, lost = dict(self._lines(name)), self._lost_ranks()
            # One that was taken for lost has not been waited for.
            gone_on = self.rank in lost or self._has(self._of_round("closed", self.round + 1))
            if gone_on or {*reports, *lost} >= set(range(self.size)):
                return list(reports.values())
            self.beat()
            self._ended()
            pause(_POLL)

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
            self._pulses.stop()
            end = time.monotonic() + _FAREWELL
            while self._hosting and time.monotonic() < end and self._others_are_here():
                time.sleep(_POLL)
        self.store = None

    def _others_are_here(self):
        arrived = (self._lines(self._of_round("arrived", self.round + i)) for i in range(2))
        tokens = {node["token"] for node in sum(arrived, self.nodes)} - {self._token}
        if self._pulses.due():
            self._pulses.look(tokens)
        return any(map(self._pulses.there, tokens))
