"""Jobs on several nodes, here launchers beside each other: how they meet, agree on ranks, fail and
start again together, and notice that one of them is gone."""

import re
import signal
import time

import pytest

from tests.dist.launching import free_port, handles, runs, until

ENVIRONMENT = "say('env', dict(os.environ))"
KEY = "k" * 64


@pytest.fixture
def nodes(launch):
    """Starts one launcher for each node; options are the same, `own` for each."""

    def start(script, backend, *options, n=2, size=None, own=((), ()), keys=(KEY, KEY), nproc="1",
              folder=""):  # fmt: skip
        port = start.port = free_port()
        meet = {
            "static": ["--master-port", port],
            "c10d": ["--rdzv-backend", "c10d", "--rdzv-endpoint", f"localhost:{port}"],
        }[backend]
        jobs = []
        for rank in range(n):
            number = ["--node-rank", rank] if backend == "static" else []
            given = ["--nnodes", size or n, "--nproc-per-node", nproc, *meet, *number, *options]
            more = {"FLAMBEAU_JOB_KEY": keys[rank], "folder": folder}
            jobs.append(launch(script, *given, *own[rank], **more))
        return jobs

    return start


def test_static(nodes):
    jobs = nodes(ENVIRONMENT, "static", own=(["--role=a"], ["--role=b", "--nproc-per-node=2"]))
    for job in jobs:
        job.done(0)
    envs = jobs[0].said("env", 3)
    wanted = {
        "RANK": ["0", "1", "2"],
        "LOCAL_RANK": ["0", "0", "1"],
        "GROUP_RANK": ["0", "1", "1"],
        "LOCAL_WORLD_SIZE": ["1", "2", "2"],
        "ROLE_RANK": ["0", "0", "1"],
        "ROLE_WORLD_SIZE": ["1", "2", "2"],
        "WORLD_SIZE": ["3"] * 3,
        "GROUP_WORLD_SIZE": ["2"] * 3,
        "MASTER_ADDR": ["127.0.0.1"] * 3,
        "FLAMBEAU_JOB_KEY": [KEY] * 3,
    }
    assert {name: [env[name] for env in envs] for name in wanted} == wanted
    assert len({env["MASTER_PORT"] for env in envs}) == 1


def test_by_arrival(nodes, tmp_path):
    key = tmp_path / "job.key"
    key.write_text(KEY + "\n")
    options = ("--rdzv-id", "job 7", "--job-key-file", str(key))
    jobs = nodes(ENVIRONMENT, "c10d", *options, n=3, own=((),) * 3, keys=("",) * 3)
    for job in jobs:
        job.done(0)
    envs = jobs[0].said("env", 3)
    for name in "RANK", "GROUP_RANK":
        assert [env[name] for env in envs] == ["0", "1", "2"]
    assert {env["TORCHELASTIC_RUN_ID"] for env in envs} == {"job 7"}


def test_a_failure_ends_all_nodes(nodes):
    jobs = nodes("sys.exit(9) if rank == 1 else time.sleep(60)", "static")
    for job in jobs:
        _, err = job.done(1)
        assert "FAILED: rank 1 exited with code 9" in err  # on both
        assert "Ended by the launcher after that: rank 0\n" in err


@pytest.mark.parametrize("backend", ["static", "c10d"])
def test_all_nodes_start_again(nodes, backend):
    script = """
say("ran", [int(os.environ["GROUP_RANK"]), os.getpid()])
after("ran", 1 - rank)
if attempt == 0 and rank == 1: os.kill(os.getpid(), signal.SIGKILL)
if attempt == 0 and rank == 0: time.sleep(60)
"""
    jobs = nodes(script, backend, "--max-restarts", "3")
    for job in jobs:
        _, err = job.done(0)
        assert err.count("rank 1 was ended by signal SIGKILL; all ranks start again") == 1
    assert [group for group, _ in jobs[0].said("ran", 4)] == [0, 1, 0, 1]


def test_a_node_that_is_done_starts_again_with_the_others(nodes):
    script = """
say("ran", rank)
if attempt == 0 and rank == 1: after("ran", 0); time.sleep(0.5); sys.exit(1)
"""
    jobs = nodes(script, "static", "--max-restarts", "1")
    for job in jobs:
        job.done(0)
    assert jobs[0].said("ran", 4) == [0, 1, 0, 1]


SOON = ("--rdzv-conf", "keep_alive_interval=0.5,keep_alive_max_attempt=3")
STAY = "say('pid', os.getpid()); time.sleep(60)"


LOSSES = [(lost, number) for lost in (0, 1) for number in (signal.SIGKILL, signal.SIGSTOP)]


def test_a_node_that_is_lost(nodes):
    """Several jobs at once: they mostly wait."""
    started = []
    for at, (lost, number) in enumerate(LOSSES):
        jobs = nodes(STAY, "static", *SOON, "--max-restarts", "3", folder=f"job{at}")
        started.append((lost, number, jobs, jobs[0].said("pid", 2)))
    began = time.monotonic()
    for lost, number, jobs, _ in started:
        jobs[lost].send_signal(number)
    for lost, number, jobs, pids in started:
        _, err = jobs[1 - lost].done(1)
        assert time.monotonic() - began < 30
        text = "the launcher that hosts it is gone" if lost == 0 else "node 1 ("
        assert text in err, err
        assert not runs(pids[1 - lost])
        if number == signal.SIGKILL:
            until(lambda: not runs(pids[lost]))  # noqa: B023


@pytest.mark.parametrize("told", [0, 1])
def test_a_signal_to_one_launcher_ends_the_job(nodes, told):
    jobs = nodes(STAY, "c10d")
    pids = jobs[0].said("pid", 2)
    jobs[told].terminate()
    jobs[told].done(128 + signal.SIGTERM)
    _, err = jobs[1 - told].done(1)
    assert "ended by SignalException" in err and "SIGTERM" in err
    assert not any(map(runs, pids))


def test_a_signal_is_heard_while_nodes_are_missing(nodes):
    for backend in "static", "c10d":
        (job,) = nodes("", backend, n=1, size=2)
        until(lambda: handles(job.pid, signal.SIGTERM))
        time.sleep(0.2)
        job.terminate()
        job.done(128 + signal.SIGTERM)


def test_nodes_that_do_not_come(nodes):
    (job,) = nodes("", "static", "--rdzv-conf", "join_timeout=0.5", n=1, size=3)
    _, err = job.done(1)
    assert "after 0.5 s 2 of 3 nodes have not come: node rank 1, 2" in err
    late = ["--node-rank", "1"]
    (job,) = nodes("", "static", "--rdzv-conf", "timeout=0.5", n=1, size=2, own=[late])
    _, err = job.done(1)
    assert "for 0.5 s no launcher hosted the job's store at 127.0.0.1:" in err


def test_a_name_that_has_no_address(nodes):
    absent = "--master-addr", "no-such-machine.invalid", "--rdzv-conf", "timeout=4"
    jobs = nodes("", "static", *absent)
    _, err = jobs[0].done(1)
    assert "cannot resolve no-such-machine.invalid: " in err and "this machine by which" in err
    assert "--master-port" not in err
    _, err = jobs[1].done(1)
    first, last = err.splitlines()[:2]
    assert re.search(
        r"has waited [2-4] s, of 4, .*: cannot resolve no-such-machine.invalid: ", first
    )
    assert "for 4 s no launcher hosted" in last and "/etc/hosts" in err and "firewall" not in err


def test_nodes_that_do_not_fit(nodes):
    jobs = nodes(STAY, "static", n=2, own=((), ["--nnodes", "3"]))
    for job in jobs:
        _, err = job.done(1)
        assert "with --nnodes 3" in err and "with --nnodes 2" in err and "all need the same" in err
    jobs = nodes(STAY, "static", n=2, size=3, own=((), ["--node-rank", "0"]))
    assert "cannot listen" in until(lambda: first_ended(jobs)).done(1)[1]
    jobs = nodes(STAY, "static", n=3, size=3, own=((), (), ["--node-rank", "1"]), keys=[KEY] * 3)
    late = until(lambda: first_ended(jobs))
    assert late in jobs[1:]
    _, err = late.done(1)
    assert "node rank 1 is taken by" in err and "its own --node-rank" in err
    (job,) = nodes(STAY, "static", n=1, size=2, own=[["--node-rank", "2"]])
    assert "--node-rank 2 is not in 0 to 1 (--nnodes 2)" in job.done(2)[1]


def first_ended(jobs):
    """The one that has ended, if any has."""
    return next((job for job in jobs if job.poll() is not None), None)


def test_one_node_too_many(nodes):
    jobs = nodes(STAY, "c10d", n=3, size=2, own=((),) * 3, keys=[KEY] * 3)
    late = until(lambda: first_ended(jobs))
    assert "has its 2 nodes already" in late.done(1)[1]


def test_another_key(nodes):
    jobs = nodes(STAY, "static", "--rdzv-conf", "timeout=4", keys=(KEY, "other"))
    _, err = jobs[1].done(1)
    assert "FLAMBEAU_JOB_KEY" in err
    assert jobs[0].wait(20) == 1


def test_endpoints():
    from flambeau.distributed.elastic.rendezvous.utils import parse_rendezvous_endpoint as parse
    from flambeau.distributed.run import get_rdzv_endpoint, parse_args

    for text, wanted in {
        "": ("localhost", 1),
        "node0": ("node0", 1),
        "node0.lan:29500": ("node0.lan", 29500),
        "10.0.0.1:0": ("10.0.0.1", 0),
        "[fd00::1]:80": ("fd00::1", 80),
        "[::1]": ("::1", 1),
        "fd00::1": ("fd00::1", 1),
    }.items():
        assert parse(text, 1) == wanted
    for text in "node0:", "node0:x", "node0:65536", "a b", "node0:80:81", "[::1":
        with pytest.raises(ValueError, match="endpoint"):
            parse(text, 1)
    for host in "fd00::1", "[fd00::1]":
        args = parse_args(["--master-addr", host, "--master-port", "5", "x.py"])
        assert parse(get_rdzv_endpoint(args), 1) == ("fd00::1", 5)
