"""Futures: a value or an exception is set once and reaches everyone who waits or follows."""

import threading

import pytest


@pytest.fixture
def futures(torch):
    return torch.futures


def test_whoever_waits_gets_the_value(futures):
    future, seen = futures.Future(), []
    threads = [threading.Thread(target=lambda: seen.append(future.wait())) for _ in range(3)]
    for thread in threads:
        thread.start()
    assert not future.done()
    with pytest.raises(RuntimeError, match="no value yet"):
        future.value()
    future.set_result(5)
    for thread in threads:
        thread.join()
    assert seen == [5, 5, 5] and future.done() and future.value() == 5
    with pytest.raises(RuntimeError, match="once"):
        future.set_result(6)


def test_what_follows_runs_when_it_is_set_or_at_once(futures):
    first = futures.Future()
    after = first.then(lambda f: f.value() + 1).then(lambda f: f.value() * 2)
    told = []
    first.add_done_callback(lambda f: told.append(f is first))
    assert not after.done() and not told
    first.set_result(1)
    assert after.wait() == 4 and first.then(lambda f: f.wait()).value() == 1 and told == [True]


def test_exceptions_reach_those_who_wait(futures):
    first = futures.Future()
    after = first.then(lambda f: f.wait())
    first.set_exception(KeyError("lost"))
    for future in first, after:
        with pytest.raises(KeyError, match="lost"):
            future.wait()
    with pytest.raises(AssertionError, match="not an Exception"):
        futures.Future().set_exception("text")


def test_all_of_several(futures):
    several = [futures.Future() for _ in range(3)]
    whole = futures.collect_all(several)
    for i in (2, 0):
        several[i].set_result(i)
    assert not whole.done()
    several[1].set_result(1)
    assert whole.wait() == several and futures.wait_all(several) == [0, 1, 2]
    assert futures.collect_all([]).wait() == []
