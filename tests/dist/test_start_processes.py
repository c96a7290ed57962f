"""Processes that a program starts by itself with torchelastic's classes: `start_processes`, and the
agent of a node by a spec and a rendezvous."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

FAST = "fork"


def doubled(number):
    os.write(1, f"said {number}\n".encode())
    return number * 2, os.environ["OWN"]


def fails(rank):
    if rank == 1:
        raise KeyError("of the program")
    time.sleep(60)


def fails_as_rank_1():
    fails(int(os.environ["RANK"]))


def takes(seconds):
    """How long its timer lets the block run."""
    from flambeau.distributed.elastic import timer

    signal.signal(signal.SIGUSR1, signal.SIG_DFL)
    path = os.environ["TORCHELASTIC_TIMER_FILE"]
    with timer.expires(seconds, "block", timer.FileTimerClient(path, signal.SIGUSR1)):
        time.sleep(0.4 if seconds > 60 else 60)
    return path


def rank_and_size():
    return int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), os.environ["ROLE_NAME"]


def names(count):
    return {rank: {"OWN": str(rank)} for rank in range(count)}


def started(tmp_path, entrypoint, args, redirects=None, envs=None):
    from flambeau.distributed.elastic import multiprocessing as mp

    logs = mp.DefaultLogsSpecs(str(tmp_path), mp.Std.NONE if redirects is None else redirects)
    envs = names(len(args)) if envs is None else envs
    return mp.start_processes("trainer", entrypoint, args, envs, logs, start_method=FAST)


def test_functions_return_their_values_by_rank(tmp_path):
    from flambeau.distributed.elastic import multiprocessing as mp

    context = started(tmp_path, doubled, {0: (3,), 1: (4,)}, mp.Std.OUT)
    found = context.wait()
    assert isinstance(context, mp.MultiprocessContext) and not found.is_failed()
    assert found.return_values == {0: (6, "0"), 1: (8, "1")}
    assert [open(found.stdouts[rank]).read() for rank in (0, 1)] == ["said 3\n", "said 4\n"]
    assert sorted(context.pids()) == [0, 1] and context.wait() is found


def test_contexts_take_their_arguments_in_torchs_order(tmp_path):
    from flambeau.distributed.elastic import multiprocessing as mp

    logs = mp.DefaultLogsSpecs(str(tmp_path), tee=mp.Std.OUT)
    more = logs, {0: "[mine]"}, None, ["said 3"], ["none"]
    script = "print('said 3')"
    for context in (
        mp.MultiprocessContext("t", doubled, {0: (3,)}, names(1), FAST, *more),
        mp.SubprocessContext("t", sys.executable, {0: ("-c", script)}, names(1), *more),
    ):
        context.start()
        found = context.wait(60)
        folder = os.path.dirname(os.path.dirname(found.stdouts[0]))
        assert not found.is_failed() and open(found.stdouts[0]).read() == "said 3\n"
        with open(os.path.join(folder, "filtered_stdout.log")) as filtered:
            assert filtered.read() == "[mine]said 3\n"
        os.remove(found.stdouts[0])
        os.remove(os.path.join(folder, "filtered_stdout.log"))
    with pytest.raises(NotImplementedError, match="SubprocessContext: numa_options are unsupp"):
        mp.SubprocessContext("t", "sh", {0: ()}, names(1), logs, None, object())


def test_the_first_failure_ends_the_others(tmp_path):
    context = started(tmp_path, fails, {0: (0,), 1: (1,)})
    found = context.wait()
    assert found.is_failed() and list(found.failures) == [1] and found.return_values == {}
    assert "KeyError" in found.failures[1].message["message"]
    for pid in context.pids().values():
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def until(holds, seconds=20):
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.02)
    assert holds()


def what_a_job_holds():
    """Threads, descriptors and children of this process."""
    with open(f"/proc/self/task/{os.getpid()}/children") as children:
        held = [t.name for t in threading.enumerate()], children.read().split()
    return *held, sorted(os.listdir("/proc/self/fd"))


@pytest.mark.parametrize("code", [0, 3])
def test_nothing_is_left_of_processes_that_have_ended(code, capfd):
    from flambeau.distributed.elastic import multiprocessing as mp

    logs = mp.DefaultLogsSpecs(tee=mp.Std.OUT)
    script = f"import sys; print('half a line', end='', flush=True); sys.exit({code})"
    before = what_a_job_holds()
    context = mp.start_processes("t", sys.executable, {0: ("-c", script)}, names(1), logs)
    assert os.path.isdir(logs.temporary)
    assert context.wait(60).is_failed() == bool(code)
    assert what_a_job_holds() == before and not os.path.exists(logs.temporary)
    assert "half a line\n" in capfd.readouterr().out


def lives_a_second(path):
    open(path, "w").close()
    time.sleep(1)
    return "lived"


@pytest.mark.skipif(sys.platform != "linux", reason="other kernels tie no process to a thread")
@pytest.mark.parametrize("how", ["program", "fork", "spawn"])
def test_processes_outlive_the_thread_that_started_them(tmp_path, how):
    from flambeau.distributed.elastic import multiprocessing as mp

    logs, made, path = mp.DefaultLogsSpecs(str(tmp_path)), [], str(tmp_path / "runs")
    method = "spawn" if how == "program" else how
    entrypoint, args, value = lives_a_second, (path,), "lived"
    if how == "program":
        entrypoint, args, value = "sh", ("-c", 'touch "$0"; sleep 1', path), None

    def start():
        made.append(
            mp.start_processes("t", entrypoint, {0: args}, names(1), logs, start_method=method)
        )
        until(lambda: os.path.exists(path))  # by then it would be tied

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    found = made[0].wait(60, 0.1)
    assert found.failures == {} and found.return_values == {0: value}


# Its rank saves when it is told to end; who handled the signal before does so afterwards.
TOLD = """
import os, signal, sys, threading
from flambeau.distributed.elastic import multiprocessing as mp

folder, number, closed_by = sys.argv[1], getattr(signal, sys.argv[2]), sys.argv[3]
heard = []
signal.signal(number, lambda *about: heard.append(about[0]))
trap = f'exec 2>/dev/null; trap "touch $0/saved; exit 0" {sys.argv[2][3:]}; touch $0/runs; '
saves = trap + "while :; do sleep 0.05; done"
logs = mp.DefaultLogsSpecs(folder)
context = mp.start_processes("t", "sh", {0: ("-c", saves, folder)}, {0: {}}, logs)
try:
    context.wait()
except mp.SignalException as told:
    assert told.sigval is number, told.sigval
    thread = threading.Thread(target=context.close, args=(told.sigval,))
    thread.start() if closed_by == "thread" else context.close(told.sigval)
    if closed_by == "thread":
        thread.join()
assert os.path.exists(folder + "/saved") and context.wait(0).failures == {}
os.kill(os.getpid(), number)
assert heard == [number], heard
print("well")
"""


@pytest.mark.parametrize("closed_by", ["main", "thread"])
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"])
def test_ranks_save_when_their_program_is_told_to_end(tmp_path, name, closed_by):
    command = [sys.executable, "-c", TOLD, str(tmp_path), name, closed_by]
    program = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        until(lambda: os.path.exists(tmp_path / "runs"), 60)
        program.send_signal(getattr(signal, name))
        assert program.communicate(timeout=60)[0] == b"well\n" and program.returncode == 0
    finally:
        program.kill()
        program.wait()


def test_a_forked_rank_has_no_handlers_of_its_launcher(tmp_path):
    context = started(tmp_path, lives_a_second, {0: (str(tmp_path / "runs"),)})
    until(lambda: os.path.exists(tmp_path / "runs"))
    context.close()
    assert context.wait(0).failures[0].exitcode == -signal.SIGTERM
    found = agent_of(tmp_path, fails_as_rank_1).run()
    assert found.failures.keys() == {1} and found.failures[1].exitcode == 1


def test_programs_wait_and_close(tmp_path):
    from flambeau.distributed.elastic import multiprocessing as mp

    script = "import os, sys, time; time.sleep(float(sys.argv[1]))"
    context = started(tmp_path, sys.executable, {0: ("-c", script, 60)})
    assert isinstance(context, mp.SubprocessContext) and context.wait(timeout=0) is None
    context.close()
    context.close()
    with pytest.raises(ProcessLookupError):
        os.kill(context.pids()[0], 0)


def test_ranks_without_arguments_are_named(tmp_path):
    with pytest.raises(RuntimeError, match="envs, local rank mapping mismatch.*0 to 1.*got .0."):
        started(tmp_path, doubled, {0: (1,), 1: (2,)}, envs=names(1))
    with pytest.raises(FileNotFoundError, match="no program"):
        started(tmp_path, "no-such-program", {0: ()})


def agent_of(tmp_path, entrypoint, args=(), max_restarts=0, **about):
    from flambeau.distributed.elastic.agent.server import LocalElasticAgent, WorkerSpec
    from flambeau.distributed.elastic.multiprocessing import DefaultLogsSpecs
    from flambeau.distributed.elastic.rendezvous import RendezvousParameters
    from flambeau.distributed.elastic.rendezvous.registry import get_rendezvous_handler

    params = RendezvousParameters("c10d", "localhost:0", "job", 1, 1)
    params = about.pop("params", params)
    handler = about.pop("handler", None) or get_rendezvous_handler(params)
    spec = WorkerSpec("trainer", 2, handler, entrypoint=entrypoint, args=args,
                      max_restarts=max_restarts, **about)  # fmt: skip
    return LocalElasticAgent(spec, DefaultLogsSpecs(str(tmp_path)), FAST)


def test_an_agent_runs_its_spec(tmp_path):
    from flambeau.distributed.elastic.agent.server import WorkerState

    agent = agent_of(tmp_path, rank_and_size)
    found = agent.run()
    assert found.state is WorkerState.SUCCEEDED and not found.is_failed()
    assert found.return_values == {0: (0, 2, "trainer"), 1: (1, 2, "trainer")}


@pytest.mark.parametrize(
    ("endpoint", "nodes", "about", "meets_at"),
    [
        ("node0", 2, {}, "node0"),
        ("node0", 2, {"master_port": 5000}, "node0:5000"),
        ("node0", 2, {"master_addr": "10.0.0.1"}, "10.0.0.1"),
        ("node0:40", 2, {"master_addr": "10.0.0.1"}, "10.0.0.1:40"),
        ("[fd00::1]:40", 2, {"master_port": 5000}, "[fd00::1]:5000"),
        ("fd00::1", 2, {"master_port": 5000}, "[fd00::1]:5000"),
        ("node0:40", 2, {"master_addr": "fd00::2"}, "[fd00::2]:40"),
        ("", 1, {"master_addr": "10.0.0.1"}, "10.0.0.1:0"),
        ("", 1, {"master_port": 5000}, "localhost:5000"),
    ],
)
def test_where_an_agent_meets_others(tmp_path, endpoint, nodes, about, meets_at):
    from flambeau.distributed.elastic.rendezvous import RendezvousParameters

    params = RendezvousParameters("c10d", endpoint, "job", nodes, nodes)
    found = agent_of(tmp_path, rank_and_size, params=params, **about)._config.rdzv_endpoint
    assert found == meets_at


def test_static_nodes_need_their_ranks(tmp_path, monkeypatch):
    from flambeau.distributed.elastic.rendezvous import RendezvousParameters

    monkeypatch.setenv("FLAMBEAU_JOB_KEY", "a key of the tests")
    params = RendezvousParameters("static", "localhost:29577", "job", 2, 2)
    with pytest.raises(ValueError, match="static needs the node's rank: give rank= to"):
        agent_of(tmp_path, rank_and_size, params=params).run()


@pytest.mark.parametrize("named", [True, False])
def test_an_agent_serves_the_timers_of_its_ranks(tmp_path, monkeypatch, named):
    monkeypatch.setenv("TORCHELASTIC_ENABLE_FILE_TIMER", "1")
    if named:
        monkeypatch.setenv("TORCHELASTIC_TIMER_FILE", str(tmp_path / "timers"))
    heard = []
    before = signal.signal(signal.SIGUSR1, lambda *about: heard.append(about[0]))
    try:
        in_time = agent_of(tmp_path, takes, (600,)).run()
        path = in_time.return_values[0]
        assert named == (path == str(tmp_path / "timers")) and not os.path.exists(path)
        assert in_time.return_values == {0: path, 1: path} and heard == []
        late = agent_of(tmp_path, takes, (0.3,)).run()
        assert -signal.SIGUSR1 in {failure.exitcode for failure in late.failures.values()}
        assert named or not os.path.exists(os.path.dirname(path))
        until(lambda: signal.SIGUSR1 in heard)  # what started the agent is told, too
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_an_agent_tells_of_failures(tmp_path):
    found = agent_of(tmp_path, sys.executable, ("-c", "import sys; sys.exit(3)")).run()
    assert found.is_failed() and {f.exitcode for f in found.failures.values()} <= {3, -15}
    assert 3 in {f.exitcode for f in found.failures.values()}


def test_what_an_agent_cannot_do_is_refused(tmp_path):
    from flambeau.distributed.elastic import rendezvous as rdzv
    from flambeau.distributed.elastic.agent.server import SimpleElasticAgent, WorkerSpec
    from flambeau.distributed.elastic.multiprocessing import PContext, api

    assert api.PContext is PContext
    from flambeau.distributed.elastic.rendezvous.registry import get_rendezvous_handler

    class Own(rdzv.RendezvousHandler):
        pass

    params = rdzv.RendezvousParameters("etcd", "here:1", "job", 1, 2, is_host="yes", n="3", m="x")
    with pytest.raises(NotImplementedError, match="rdzv_handler of type Own is unsupported"):
        agent_of(tmp_path, rank_and_size, handler=Own(params))
    with pytest.raises(NotImplementedError, match="SimpleElasticAgent is unsupported"):
        SimpleElasticAgent()
    with pytest.raises(ValueError, match="'etcd' is not registered.*c10d, static"):
        get_rendezvous_handler(params)
    with pytest.raises(AssertionError, match="local_world_size must be more than 0"):
        WorkerSpec("trainer", 0, None, entrypoint=print)
    with pytest.raises(AssertionError, match="give an entrypoint"):
        WorkerSpec("trainer", 1, None)
    assert params.get_as_bool("is_host") is True and params.get_as_bool("none", False) is False
    assert params.get_as_int("n") == 3 and params.get("n") == "3"
    for call in (lambda: params.get_as_int("m"), lambda: params.get_as_bool("m")):
        with pytest.raises(ValueError, match="option 'm' does not represent a valid"):
            call()
    for nodes, why in ((0, 1), "minimum number"), ((2, 1), "maximum number"):
        with pytest.raises(ValueError, match=why):
            rdzv.RendezvousParameters("c10d", "", "job", *nodes)
