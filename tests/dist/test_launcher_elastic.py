"""Jobs whose nodes come and go, here launchers beside each other: world sizes, restarts, and what
is said of who came, left or was lost."""

import signal
import time

import pytest

from tests.dist.launching import free_port, handles, runs, until

KEY = "k" * 64
AT_ONCE, BOTH = "last_call_timeout=0.5", "last_call_timeout=20"  # which waits for the second node
LOST_SOON = "last_call_timeout=20,keep_alive_interval=0.7,keep_alive_max_attempt=3"
STAY = """
world, group = int(os.environ["WORLD_SIZE"]), int(os.environ["GROUP_RANK"])
say(f"pid{world}", os.getpid())
"""


@pytest.fixture
def node(launch):
    """Starts the launcher of one node; the first has the job's store."""
    ports = {}

    def start(script, *options, nnodes="1:2", conf=AT_ONCE, job=""):
        port = ports[job] = ports.get(job) or free_port()
        meet = "--rdzv-backend", "c10d", "--rdzv-endpoint", f"localhost:{port}"
        given = "--nnodes", nnodes, *meet, "--rdzv-conf", conf, *options
        return launch(script, *given, folder=job, FLAMBEAU_JOB_KEY=KEY)

    return start


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


# The ranks of the job end when the world is as small as it becomes.
LEFT = STAY + "time.sleep(60 if world == 2 else 0)"


WAYS = {
    signal.SIGKILL: "is lost: its launcher has not been heard of for",
    signal.SIGTERM: "has left, ended by SignalException",
    signal.SIGSTOP: "is lost: its launcher has not been heard of for",
}


def test_a_node_goes(node):
    """Several jobs at once: they mostly wait."""
    jobs = {}
    for number in WAYS:
        jobs[number] = [node(LEFT, conf=LOST_SOON, job=number.name)]
    second_can_come()
    for number, job in jobs.items():
        job.append(node(LEFT, conf=LOST_SOON, job=number.name))
    pids = {number: job[0].said("pid2", 2) for number, job in jobs.items()}
    for number, (_, second) in jobs.items():
        second.send_signal(number)
    for number, (first, second) in jobs.items():
        _, err = first.done(0)
        assert "node 1 (" in err and WAYS[number] in err, err
        assert len(first.said("pid1")) == 1
        if number == signal.SIGTERM:
            second.done(128 + number)
        if number != signal.SIGSTOP:
            until(lambda: not any(map(runs, pids[number])))  # noqa: B023


def second_can_come():
    """The first launcher has to be the one that has the store."""
    time.sleep(0.5)


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
    script = STAY + "time.sleep(60 if not os.path.exists('go') else 0)"
    first = node(script, conf=BOTH)
    second_can_come()
    second = node(script, conf=BOTH)
    first.said("pid2", 2)
    third = node(script, conf=BOTH)
    time.sleep(1)
    assert first.poll() is None and third.poll() is None
    (first.folder / "go").write_text("")
    second.terminate()
    second.done(128 + signal.SIGTERM)
    first.done(0)
    third.done(0)


def test_a_node_that_was_taken_for_lost_comes_back(node):
    script = """
world, round = int(os.environ["WORLD_SIZE"]), int(os.environ["FLAMBEAU_ROUND"])
say(f"ran{round}", world)
if round < 2: time.sleep(60)
"""
    first = node(script, conf=LOST_SOON)
    second_can_come()
    second = node(script, conf=LOST_SOON)
    assert first.said("ran0", 2) == [2, 2]
    second.send_signal(signal.SIGSTOP)
    assert first.said("ran1") == [1]
    second.send_signal(signal.SIGCONT)
    first.done(0)
    second.done(0)
    assert first.said("ran2", 2) == [2, 2]


def test_a_node_leaves_while_another_still_ends_its_ranks(node):
    script = """
world, round = int(os.environ["WORLD_SIZE"]), int(os.environ["FLAMBEAU_ROUND"])
if rank == 0: signal.signal(signal.SIGTERM, lambda *_: say("told", round))
say(f"ran{round}", [world, os.getpid()])
end = time.monotonic() + (60 if round == 0 else 0)
while time.monotonic() < end: time.sleep(0.1)
"""
    options = "--shutdown-timeout", "4"
    first = node(script, *options, nnodes="1:3", conf=BOTH)
    second_can_come()
    second = node(script, *options, nnodes="1:3")  # which closes the round
    (_, _), (_, pid) = first.said("ran0", 2)
    third = node(script, *options, nnodes="1:3", conf=BOTH)
    first.said("told")
    until(lambda: not runs(pid))
    time.sleep(0.3)
    second.terminate()
    second.done(128 + signal.SIGTERM)
    first.done(0)
    third.done(0)
    assert [world for world, _ in first.said("ran1", 2)] == [2, 2]


def test_a_node_that_waits_when_the_job_ends(node):
    script = STAY + "while not os.path.exists('go'): time.sleep(0.01)"
    first = node(script, conf=BOTH)
    second_can_come()
    second = node(script, conf=BOTH)
    first.said("pid2", 2)
    third = node(script)
    until(lambda: handles(third.pid, signal.SIGTERM))
    time.sleep(1)
    (first.folder / "go").write_text("")
    for job in first, second:
        job.done(0)
    assert "the job 'none' has ended" in third.done(1)[1]


def test_nodes_that_do_not_fit(node):
    first = node(STAY + "time.sleep(60)")
    first.said("pid1")
    other = node(STAY, nnodes="1:3")
    _, err = other.done(1)
    assert "was started with other options than the job" in err and '"1:3"' in err
    alone = node(STAY, nnodes="2:3", conf="join_timeout=0.5")
    assert "other options" in alone.done(1)[1]
    assert first.poll() is None


def test_too_few_nodes(node):
    alone = node(STAY, nnodes="2:3", conf="join_timeout=0.5")
    _, err = alone.done(1)
    assert "after 0.5 s there are 1 of at least 2 nodes" in err and "--nnodes 2:3" in err


def test_the_node_with_the_store_goes(node):
    first = node(STAY + "time.sleep(60)", conf=BOTH)
    second_can_come()
    second = node(STAY + "time.sleep(60)", conf=BOTH)
    first.said("pid2", 2)
    first.terminate()
    first.done(128 + signal.SIGTERM)
    assert "the node that has the job's store ended by SignalException" in second.done(1)[1]
