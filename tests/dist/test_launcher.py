"""The launcher on one machine: what ranks find in their environment, how failures and signals end
a job, and that nothing of a job outlives it."""

import os
import re
import signal
import time

import pytest

from tests.dist.launching import runs, until

TWO = ("--nproc-per-node", "2")
ENVIRONMENT = "say('env', dict(os.environ)); say('argv', sys.argv[1:])"


def test_environment(launch):
    launch(ENVIRONMENT, "--role", "trainer", args=["-x", "y"], PET_NPROC_PER_NODE="2").done(0)
    job = launch(ENVIRONMENT, *TWO, "--role=trainer", "--max_restarts=2", args=["-x", "y"])
    job.done(0)
    first, second = job.said("env", 2)
    alike = {
        "WORLD_SIZE": "2",
        "LOCAL_WORLD_SIZE": "2",
        "GROUP_RANK": "0",
        "GROUP_WORLD_SIZE": "1",
        "ROLE_WORLD_SIZE": "2",
        "ROLE_NAME": "trainer",
        "MASTER_ADDR": "localhost",
        "TORCHELASTIC_RESTART_COUNT": "0",
        "TORCHELASTIC_MAX_RESTARTS": "2",
        "TORCHELASTIC_USE_AGENT_STORE": "True",
        "OMP_NUM_THREADS": "1",
        "FLAMBEAU_NUM_THREADS": str(max(1, len(os.sched_getaffinity(0)) // 2)),
    }
    for rank, env in enumerate((first, second)):
        assert {k: env[k] for k in alike} == alike
        assert [env[k] for k in ("RANK", "LOCAL_RANK", "ROLE_RANK")] == [str(rank)] * 3
        assert re.fullmatch("[0-9a-f]{64}", env["FLAMBEAU_JOB_KEY"])
        assert 0 < int(env["MASTER_PORT"]) < 65536
        assert env["TORCHELASTIC_ERROR_FILE"].endswith(f"attempt_0/{rank}/error.json")
        assert not os.path.exists(os.path.dirname(env["TORCHELASTIC_ERROR_FILE"]))
    for name in ("MASTER_PORT", "FLAMBEAU_JOB_KEY", "TORCHELASTIC_RUN_ID"):
        assert first[name] == second[name]
    assert job.said("argv", 2) == [["-x", "y"]] * 2


def test_what_the_user_set_stays(launch):
    gpus = {"CUDA_VISIBLE_DEVICES": "6, 4"}
    own = {"OMP_NUM_THREADS": "3", "FLAMBEAU_NUM_THREADS": "5", "FLAMBEAU_JOB_KEY": "a" * 32}
    job = launch(ENVIRONMENT, *TWO, "--virtual-local-rank", **own, **gpus)
    job.done(0)
    for env, gpu in zip(job.said("env", 2), "64"):
        assert {name: env[name] for name in own} == own
        assert (env["LOCAL_RANK"], env["CUDA_VISIBLE_DEVICES"]) == ("0", gpu)


def test_a_rank_that_fails_ends_the_others(launch):
    began = time.monotonic()
    job = launch(
        """
if rank == 1:
    after("ready", 0)
    sys.exit(3)
signal.signal(signal.SIGTERM, lambda *_: (say("ended", rank), sys.exit(5)))
say("ready", os.getpid())
time.sleep(60)
""",
        *TWO,
    )
    out, err = job.done(1)
    assert time.monotonic() - began < 30
    assert job.said("ended") == [0]
    assert "script.py FAILED: rank 1 exited with code 3" in err
    assert re.search(r"Root Cause.*\n\[rank1\]:\n  time +: \d{4}-\d\d-\d\d_", err)
    assert "Ended by the launcher after that: rank 0\n" in err
    assert "Traceback" not in err and out == ""


def test_the_summary_names_signals_and_shows_recorded_tracebacks(launch):
    job = launch("os.kill(os.getpid(), signal.SIGKILL) if rank == 0 else time.sleep(60)", *TWO)
    _, err = job.done(1)
    assert "rank 0 was ended by signal SIGKILL" in err
    assert "Signal 9 (SIGKILL) received by PID" in err
    script = """
from flambeau.distributed.elastic.multiprocessing.errors import record
@record
def main():
    raise ValueError("nothing to learn from")
main()
"""
    _, err = launch(script, folder="recorded").done(1)
    assert err.count("ValueError: nothing to learn from") == 2  # the program's own words, and ours
    assert "  traceback : Traceback (most recent call last):" in err


def test_what_others_recorded_is_in_the_summary(launch):
    script = """
from flambeau.distributed.elastic.multiprocessing.errors import record
@record
def main():
    try: say("ready", rank); time.sleep(60)
    except KeyboardInterrupt: raise RuntimeError(f"rank {rank} was at step 7")
if rank == 0:
    after("ready", 1), after("ready", 2)
    sys.exit(3)
signal.signal(signal.SIGTERM, signal.default_int_handler)
main()
"""
    _, err = launch(script, "--nproc-per-node", "3").done(1)
    for rank in 1, 2:
        assert f"  rank {rank} exited with code 1: RuntimeError: rank {rank} was at step 7" in err
    assert "FAILED: rank 0 exited with code 3" in err and "after that" not in err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_are_handed_down(launch, number):
    job = launch(
        """
def end(number, frame):
    say("ended", number)
    sys.exit(0)
for number in signal.SIGTERM, signal.SIGINT, signal.SIGHUP: signal.signal(number, end)
say("ready", os.getpid())
while True: time.sleep(0.01)
""",
        *TWO,
    )
    job.said("ready", 2)
    job.send_signal(number)
    _, err = job.done(128 + number)
    assert job.said("ended", 2) == [number] * 2
    assert f"ended by {number.name}" in err


def test_a_rank_that_does_not_listen_is_killed(launch):
    stubborn = """
signal.signal(signal.SIGTERM, signal.SIG_IGN)
say("ready", os.getpid())
time.sleep(60)
"""
    job = launch(stubborn, *TWO, "--shutdown-timeout", "1")
    job.said("ready", 2)
    began = time.monotonic()
    job.terminate()
    job.done(128 + signal.SIGTERM)
    assert 0.9 < time.monotonic() - began < 20
    job = launch(stubborn, *TWO, folder="twice")
    pids = job.said("ready", 2)
    job.terminate()
    time.sleep(0.3)
    assert all(map(runs, pids))
    job.terminate()  # at once
    job.done(128 + signal.SIGTERM)
    assert not any(map(runs, pids))


FAMILY = """
child = subprocess.Popen(["sleep", "60"])
say("pids", [os.getpid(), child.pid])
"""


FORKSERVER = ("--run-path", "--start-method", "forkserver")


@pytest.mark.parametrize("options", [(), ("--tee", "3"), FORKSERVER])
def test_nothing_outlives_a_launcher_that_is_killed(launch, tmp_path, options):
    job = launch(FAMILY + "time.sleep(60)", *TWO, *options, TMPDIR=str(tmp_path))
    pids = sum(job.said("pids", 2), [])
    assert len(list(tmp_path.glob("flambeau_*"))) == 1
    assert len(pids) == 4 and all(map(runs, pids))
    job.kill()
    job.wait()
    until(lambda: not any(map(runs, pids)))
    until(lambda: not list(tmp_path.glob("flambeau_*")))


@pytest.mark.parametrize("code", [0, 1])
def test_nothing_outlives_a_job(launch, code):
    job = launch(FAMILY + f"sys.exit({code})")
    job.done(code)
    assert not any(map(runs, job.said("pids")[0]))


def test_restarts(launch):
    script = """
say("port", os.environ["MASTER_PORT"])
after("port", 1 - rank)
if attempt < 2 and rank == 1: sys.exit(4)
if attempt < 2: time.sleep(60)
"""
    job = launch(script, *TWO, "--max-restarts", "2")
    _, err = job.done(0)
    assert err.count("rank 1 exited with code 4; all ranks start again") == 2
    assert "(restart 2 of 2)" in err and "FAILED" not in err
    assert len(set(job.said("port", 6))) == 1  # the store outlived them all
    _, err = launch(script, *TWO, "--max-restarts", "1", folder="too few").done(1)
    assert err.count("start again") == 1 and "FAILED: rank 1" in err


def test_the_store_outlives_ranks(launch):
    job = launch(
        """
from flambeau.distributed import TCPStore
store = TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
say("count", store.add("started", 1))
after("count", 1 - rank)
if attempt == 0: os.kill(os.getpid(), signal.SIGKILL)
""",
        *TWO,
        "--max-restarts=1",
    )
    job.done(0)
    assert sorted(job.said("count", 4)) == [1, 2, 3, 4]


def test_a_port_that_is_taken(launch):
    from flambeau.distributed.elastic.utils import get_socket_with_port

    with get_socket_with_port() as taken:
        taken.listen()
        port = taken.getsockname()[1]
        _, err = launch("", "--master-port", port).done(1)
    assert f"the job's store cannot listen on 127.0.0.1:{port}" in err
