"""Jobs whose nodes come and go, here launchers beside each other: world sizes, restarts, and what
is said of who came, left or was lost."""

import json
import os
import signal
from datetime import timedelta

import pytest

import flambeau.distributed as dist
from tests.dist.launching import PATIENCE, free_port, runs, until

KEY = "k" * 64
AT_ONCE, BOTH = "last_call_timeout=0.5", "last_call_timeout=20"  # which waits for the second node
LOST_SOON = "last_call_timeout=20,keep_alive_interval=1,keep_alive_max_attempt=3"
STAY = """
world, round = int(os.environ["WORLD_SIZE"]), int(os.environ["FLAMBEAU_ROUND"])
say(f"ran{round}", [world, os.getpid()])
"""


class Nodes:
    """Starts the launchers of jobs' nodes, of which the first has the store, and reads there."""

    def __init__(self, launch):
        self._launch, self.ports, self._stores = launch, {}, {}

    def __call__(self, script, *options, nnodes="1:2", conf=AT_ONCE, job=""):
        hosts = "false" if job in self.ports else "true"
        port = self.ports.setdefault(job, free_port())
        meet = "--rdzv-backend", "c10d", "--rdzv-endpoint", f"localhost:{port}"
        given = "--nnodes", nnodes, *meet, "--rdzv-conf", f"{conf},is_host={hosts}", *options
        return self._launch(script, *given, folder=job, FLAMBEAU_JOB_KEY=KEY)

    def host(self):
        """A store that is nobody's of the job."""
        wait = timedelta(seconds=PATIENCE)
        store = self._stores[""] = dist.TCPStore("localhost", 0, None, True, wait, False)
        self.ports[""] = store.port
        return store

    def store(self, job=""):
        if job not in self._stores:
            wait = timedelta(seconds=PATIENCE)
            port = self.ports[job]
            self._stores[job] = dist.TCPStore("localhost", port, None, False, wait, False)
        return self._stores[job]

    def arrived(self, round, count, job=""):
        """Waits until so many nodes have come to a round."""
        store, key = self.store(job), f"launcher/none/round/{round}/arrived"
        until(lambda: store.check([key]) and store.get(key).count(b"\n") >= count)

    def looked(self, times, job=""):
        """Waits until the leader has looked at the others so many times."""
        store = self.store(job)
        key = f"launcher/none/beat/{store.get('launcher/none/leader').decode()}"
        end = int(store.get(key)) + times
        until(lambda: int(store.get(key)) >= end)


@pytest.fixture
def node(launch, monkeypatch):
    monkeypatch.setenv("FLAMBEAU_JOB_KEY", KEY)
    return Nodes(launch)


def worlds(job, round, count):
    """The world sizes that the ranks of a round saw."""
    return [world for world, _ in job.said(f"ran{round}", count)]


def test_a_node_comes(node):
    script = """
import flambeau.distributed as dist
import flambeau as torch
names = "RANK WORLD_SIZE GROUP_WORLD_SIZE ROLE_WORLD_SIZE TORCHELASTIC_RESTART_COUNT".split()
dist.init_process_group("gloo")
total = torch.ones(1)
dist.all_reduce(total)
say(f"ran{os.environ['WORLD_SIZE']}", [total.item(), [os.environ[n] for n in names]])
if total.item() == 1:
    time.sleep(60)
dist.destroy_process_group()
"""
    first = node(script)
    assert first.said("ran1") == [[1.0, ["0", "1", "1", "1", "0"]]]
    second = node(script)
    _, err = first.done(0)
    assert err.count("has come; all ranks start again with the nodes that are there") == 1
    second.done(0)
    assert first.said("ran2", 2) == [[2.0, [str(r), "2", "2", "2", "0"]] for r in range(2)]


WAYS = {
    signal.SIGKILL: "is lost: its launcher has not been heard of for",
    signal.SIGSTOP: "is lost: its launcher has not been heard of for",
    signal.SIGTERM: "has left, ended by SignalException",
}
# Ranks that meet notice first that one of them is gone.
MEET = (
    STAY
    + """
import flambeau.distributed as dist
import flambeau as torch
dist.init_process_group("gloo")
while world == 2:
    dist.all_reduce(torch.ones(1))
    say(f"met{round}", True)
"""
)


def test_a_node_goes(node):
    """Several jobs at once: they mostly wait. The one that was stopped comes back, and one that
    died while it waited is not taken in for the one that leaves."""
    jobs = {}
    for number in WAYS:
        last = 2 if number == signal.SIGSTOP else 1
        script = STAY + f"time.sleep(60 if round < {last} else 0)"
        jobs[number] = [node(script, conf=LOST_SOON, job=number.name) for _ in range(2)]
    meet = [node(MEET, "--max-restarts", "1", conf=LOST_SOON, job="meet") for _ in range(2)]
    pids = {n: [pid for _, pid in job[0].said("ran0", 2)] for n, job in jobs.items()}
    meet[0].said("met0", 2)
    meet[1].kill()
    waits = node(STAY, conf=LOST_SOON, job="SIGTERM")
    node.arrived(1, 1, "SIGTERM")
    waits.kill()
    for number, (_, second) in jobs.items():
        if number == signal.SIGTERM:
            node.looked(8, "SIGTERM")  # it is missed after 5
        second.send_signal(number)
    assert worlds(jobs[signal.SIGSTOP][0], 1, 1) == [1]
    jobs[signal.SIGSTOP][1].send_signal(signal.SIGCONT)
    for number, (first, second) in jobs.items():
        _, err = first.done(0)
        assert "node 1 (" in err and WAYS[number] in err, err
        assert worlds(first, 1, 1) == [1]
        if number == signal.SIGTERM:
            second.done(128 + number)
            assert err.count("all ranks start again") == 1
        until(lambda: not any(map(runs, pids[number])))  # noqa: B023
    jobs[signal.SIGSTOP][1].done(0)
    assert worlds(jobs[signal.SIGSTOP][0], 2, 2) == [2, 2]
    _, err = meet[0].done(0)
    assert "(restart 1 of 1)" in err and worlds(meet[0], 1, 1) == [1]


def test_a_failure_counts_and_a_node_does_not(node):
    script = """
world = int(os.environ["WORLD_SIZE"])
say(f"ran{world}", os.getpid())
if world == 1: time.sleep(60)
if attempt == 0:
    after("ran2", 1 - rank)
    if rank == 1: sys.exit(3)
    time.sleep(60)
"""
    first = node(script, "--max-restarts", "1")
    first.said("ran1")
    second = node(script, "--max-restarts", "1")
    for job in first, second:
        _, err = job.done(0)
        assert err.count("rank 1 exited with code 3; all ranks start again (restart 1 of 1)") == 1
    assert len(first.said("ran2", 4)) == 4  # of both attempts


def test_the_last_failure_ends_all(node):
    script = STAY + "time.sleep(60 if rank == 0 else 0); sys.exit(5)"
    jobs = [node(script, conf=BOTH), node(script, conf=BOTH)]
    for job in jobs:
        assert "rank 1 exited with code 5" in job.done(1)[1]


def test_a_node_more_waits_for_one_to_go(node):
    script = STAY + "time.sleep(60 if round == 0 else 0)"
    first, second = node(script, conf=BOTH), node(script, conf=BOTH)
    first.said("ran0", 2)
    third = node(script, conf=BOTH)
    node.arrived(1, 1)
    node.looked(2)
    second.terminate()
    second.done(128 + signal.SIGTERM)
    _, err = first.done(0)
    third.done(0)
    assert err.count("all ranks start again") == 1 and "node 1 (" in err and "has left" in err
    assert worlds(first, 1, 2) == [2, 2]


# The first rank ends when it is told so by a signal and by the test.
SLOW = (
    STAY
    + """
if rank == 0: signal.signal(signal.SIGTERM, lambda *_: say("told", round))
while round == 0 and not os.path.exists("go"): time.sleep(0.01)
"""
)
SLOWLY = "--shutdown-timeout", "30"


def test_a_node_leaves_while_another_still_ends_its_ranks(node):
    first, second = (node(SLOW, *SLOWLY, nnodes="2:3") for _ in range(2))
    first.said("ran0", 2)
    third = node(SLOW, *SLOWLY, nnodes="2:3")
    first.said("told")
    node.arrived(1, 2)
    second.terminate()
    second.done(128 + signal.SIGTERM)
    (first.folder / "go").write_text("")
    first.done(0)
    third.done(0)
    assert worlds(first, 1, 2) == [2, 2]


def test_nodes_that_wait_do_not_take_the_place_of_one_that_ends_its_ranks(node):
    script = """
def fails(*_):
    sys.exit(3)
if rank == 1: signal.signal(signal.SIGUSR1, fails)
"""
    script += SLOW
    options = "--max-restarts", "1", *SLOWLY
    first, second = (node(script, *options, conf=BOTH) for _ in range(2))
    (_, _), (_, pid) = first.said("ran0", 2)
    third = node(script, *options, conf=BOTH)
    node.arrived(1, 1)
    os.kill(pid, signal.SIGUSR1)
    first.said("told")
    node.looked(3)
    assert not node.store().check(["launcher/none/round/1/closed"])
    (first.folder / "go").write_text("")
    for job in first, second:
        _, err = job.done(0)
        assert err.count("rank 1 exited with code 3; all ranks start again (restart 1 of 1)") == 1
    assert "the job 'none' has succeeded without this node" in third.done(0)[1]
    assert worlds(first, 1, 2) == [2, 2]


def test_a_node_that_waits_when_the_job_ends(node):
    """Where ranks failed for the last time it does not start them again."""
    script = STAY + "while not os.path.exists('go'): time.sleep(0.01)\n"
    jobs = {}
    for code in 0, 5:
        ranks = [script + f"sys.exit({code})"]
        jobs[code] = [node(*ranks, conf=BOTH, job=str(code)) for _ in range(2)]
    for code, (first, second) in jobs.items():
        first.said("ran0", 2)
        third = node(script, conf=BOTH, job=str(code))
        node.arrived(1, 1, str(code))
        (first.folder / "go").write_text("")
        for job in first, second:
            job.done(1 if code else 0)
        how = "has ended: a rank of it failed" if code else "has succeeded without this node"
        assert f"the job 'none' {how}" in third.done(1 if code else 0)[1]
        assert not list(first.folder.glob("ran1*"))


def test_nodes_that_do_not_fit(node):
    first = node(STAY + "time.sleep(60)")
    first.said("ran0")
    other = node(STAY, nnodes="1:3")
    alone = node(STAY, nnodes="2:3", conf="join_timeout=0.5")
    _, err = other.done(1)
    assert "was started with other options than the job" in err and '"1:3"' in err
    assert "other options" in alone.done(1)[1]
    assert first.poll() is None


def test_too_few_nodes(node):
    alone = node(STAY, nnodes="2:3", conf="join_timeout=0.5")
    told = node(STAY, nnodes="2:3", job="told")
    _, err = alone.done(1)
    assert "after 0.5 s there are 1 of at least 2 nodes" in err and "--nnodes 2:3" in err
    assert "Traceback" not in err
    node.arrived(0, 1, "told")
    told.terminate()
    _, err = told.done(128 + signal.SIGTERM)
    assert "Traceback" not in err


def test_the_node_with_the_store_goes(node):
    ways = {
        signal.SIGTERM: "the node that has the job's store ended by SignalException",
        signal.SIGKILL: "does not answer, so the launcher that hosts it is gone",
    }
    jobs = {number: [node(STAY + "time.sleep(60)", conf=BOTH, job=number.name) for _ in range(2)]
            for number in ways}  # fmt: skip
    for number, (first, second) in jobs.items():
        first.said("ran0", 2)
        first.send_signal(number)
        _, err = second.done(1)
        assert ways[number] in err and "Traceback" not in err
        first.done(128 + number if number == signal.SIGTERM else -number)


def test_another_node_leads_where_the_leader_is_lost(node):
    store = node.host()
    script = STAY + "time.sleep(60 if round == 0 else 0)"
    first = node(script, conf=LOST_SOON)
    node.arrived(0, 1)
    leader = store.get("launcher/none/leader")
    second = node(script, conf=LOST_SOON)
    first.said("ran0", 2)
    first.kill()
    _, err = second.done(0)
    assert "node 0 (" in err and "is lost" in err
    assert worlds(second, 1, 1) == [1] and store.get("launcher/none/leader") != leader


def test_a_node_that_left_while_its_round_was_closed(node):
    """The store has of it what it would have left there."""
    store = node.host()
    gone = {"token": "t", "host": "ghost", "hosting": False, "nproc": 1, "role": "default"}
    store.append("launcher/none/round/0/arrived", json.dumps(gone) + "\n")
    store.set("launcher/none/beat/t", "1")
    other = node(STAY + "time.sleep(60 if round == 0 else 0)", conf=BOTH)
    assert worlds(other, 0, 1) == [2]
    store.delete_key("launcher/none/beat/t")
    assert "node 0 (ghost) has left; all ranks start again" in other.done(0)[1]
    assert worlds(other, 1, 1) == [1]


def test_the_store_does_not_grow_by_rounds(node):
    store = node.host()
    script = """
import flambeau.distributed as dist
dist.init_process_group("gloo")
dist.destroy_process_group()
sys.exit(3 if attempt < 3 else 0)
"""
    node(script, "--max-restarts", "3").done(0)
    of = {n: [k for k in store.list_keys() if k.endswith(f"round_{n}") or f"round_{n}/" in k]
          for n in range(4)}  # fmt: skip
    assert of[2] and of[3] and not of[0] and not of[1], of
    kept = [
        k.rpartition("/")[2] for k in store.list_keys() if k.startswith("launcher/none/round/0")
    ]
    assert kept == ["closed", "end"]
    assert not any(k.startswith("launcher/none/beat/") for k in store.list_keys())
