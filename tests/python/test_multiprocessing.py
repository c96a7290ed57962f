"""torch.multiprocessing: processes that share tensors."""

import os
import signal

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
