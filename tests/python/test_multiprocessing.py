"""torch.multiprocessing: processes that share tensors."""

import os
import pickle
import signal
import subprocess
import sys
import time

import flambeau
import flambeau.multiprocessing as mp
import pytest

CPU_ONLY = pytest.mark.skipif("FLAMBEAU_SIM" in os.environ, reason="processes begin on a plain cpu")


def add_rank(rank, shared):
    shared[rank] += rank + 1


def fail(rank, how):
    if rank == 1 and how == "raise":
        raise ValueError(f"no {rank}")
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)


def misbehave(rank, how):
    if rank == 1 and how == "speak at length":
        raise ValueError("no " * 100000)
    if rank == 1 and how == "leave":
        sys.exit(7)
    if rank == 1 and how == "interrupt":
        signal.raise_signal(signal.SIGINT)
    if how == "refuse":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if rank == 1:
            sys.exit(3)
    time.sleep(60)


def tell_key(rank, told):
    told.put(os.environ["FLAMBEAU_JOB_KEY"])


def train(model):
    optimizer = flambeau.optim.SGD(model.parameters(), lr=0.5)
    model(flambeau.ones(1, 2)).sum().backward()
    optimizer.step()


def answer(questions, answers):
    x = questions.get(timeout=20)
    x[0] = 7
    answers.put(x.sum().item())


@CPU_ONLY
def test_spawned_processes_write_to_shared_memory():
    shared = flambeau.zeros(2)
    assert not shared.is_shared()
    shared.share_memory_()
    assert shared.is_shared() and shared[1:].is_shared()
    mp.spawn(add_rank, args=(shared,), nprocs=2)
    assert shared.tolist() == [1, 2]


@CPU_ONLY
def test_the_first_failure_is_raised():
    with pytest.raises(
        mp.ProcessRaisedException, match="(?s)Process 1 .*ValueError: no 1"
    ) as caught:
        mp.spawn(fail, args=("raise",), nprocs=2)
    assert caught.value.error_index == 1
    with pytest.raises(mp.ProcessExitedException, match="terminated with signal SIGKILL"):
        mp.start_processes(fail, args=("die",), nprocs=2, start_method="fork")


@CPU_ONLY
@pytest.mark.parametrize(
    "how, kind, text",
    [
        ("speak at length", mp.ProcessRaisedException, "ValueError: (no ){100000}"),
        ("leave", mp.ProcessExitedException, "^process 1 terminated with exit code 7$"),
        ("interrupt", mp.ProcessRaisedException, "KeyboardInterrupt"),
        ("refuse", mp.ProcessExitedException, "exit code 3"),
    ],
)
def test_others_end_with_the_first_that_fails(how, kind, text):
    began = time.monotonic()
    context = mp.start_processes(misbehave, args=(how,), nprocs=2, join=False, start_method="fork")
    with pytest.raises(kind, match=text) as caught:
        while not context.join(grace_period=0.2):
            pass
    assert time.monotonic() - began < 20
    assert not any(process.is_alive() for process in context.processes)
    assert (caught.value.error_index, caught.value.error_pid) == (1, context.pids()[1])
    copy = pickle.loads(pickle.dumps(caught.value))
    assert str(copy) == str(caught.value) and copy.error_pid == caught.value.error_pid
    assert context.join() is True


@CPU_ONLY
def test_join_waits_no_longer_than_it_may():
    context = mp.start_processes(misbehave, args=("",), nprocs=2, join=False, start_method="fork")
    assert context.join(0.05) is False and context.join(-1) is False
    os.kill(context.pids()[0], signal.SIGTERM)
    with pytest.raises(mp.ProcessExitedException, match="process 0 .* signal SIGTERM") as caught:
        context.join(20)
    assert (caught.value.exit_code, caught.value.signal_name) == (-signal.SIGTERM, "SIGTERM")


@CPU_ONLY
@pytest.mark.parametrize("method", ["fork", "forkserver"])
def test_processes_share_a_key(monkeypatch, method):
    monkeypatch.delenv("FLAMBEAU_JOB_KEY", raising=False)
    told = mp.get_context(method).SimpleQueue()
    mp.start_processes(tell_key, args=(told,), nprocs=2, start_method=method)
    keys = {told.get(), told.get(), os.environ["FLAMBEAU_JOB_KEY"]}
    assert len(keys) == 1 and len(keys.pop()) == 64


@CPU_ONLY
def test_processes_end_with_the_one_that_started_them():
    program = (
        "import time, flambeau.multiprocessing as mp\n"
        "wait = lambda i: time.sleep(60)\n"
        "c = mp.start_processes(wait, nprocs=2, join=False, start_method='fork')\n"
        "print(*c.pids(), flush=True); time.sleep(60)"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    pids = [int(pid) for pid in parent.stdout.readline().split()]
    assert len(pids) == 2 and all(map(runs, pids))
    parent.kill()
    parent.wait()
    end = time.monotonic() + 20
    while any(map(runs, pids)) and time.monotonic() < end:
        time.sleep(0.01)
    assert not any(map(runs, pids))


def runs(pid):
    """Whether the process is there, and not one that nobody has waited for yet."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@CPU_ONLY
def test_a_model_is_trained_by_another_process():
    model = flambeau.nn.Linear(2, 1, bias=False)
    flambeau.nn.init.ones_(model.weight)
    model.share_memory()
    process = mp.Process(target=train, args=(model,))
    process.start()
    process.join()
    assert process.exitcode == 0 and model.weight.tolist() == [[0.5, 0.5]]


@CPU_ONLY
def test_tensors_through_queues():
    questions, answers = mp.Queue(), mp.Queue()
    process = mp.get_context("fork").Process(target=answer, args=(questions, answers))
    process.start()
    x = flambeau.arange(6.0).reshape(2, 3)[1]
    questions.put(x)
    assert answers.get(timeout=20) == 16
    process.join()
    assert x.tolist() == [7, 4, 5]
    with pytest.raises(RuntimeError, match="non-leaf tensor which requires_grad"):
        mp.reductions._reduce(flambeau.ones(1, requires_grad=True) * 2)


def test_settings():
    assert mp.get_start_method() in mp.get_all_start_methods()
    mp.set_start_method(mp.get_start_method(), force=True)
    assert mp.get_sharing_strategy() in mp.get_all_sharing_strategies()
    mp.set_sharing_strategy("file_system")
    with pytest.raises(AssertionError, match="invalid sharing strategy"):
        mp.set_sharing_strategy("pigeon")
