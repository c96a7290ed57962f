"""Data sets, samplers and the loader: order, collation, workers, exceptions."""

import collections
import gc
import itertools
import json
import os
import signal
import threading
import warnings

import numpy as np
import pytest

from tests.harness import child


@pytest.fixture
def data(torch):
    import flambeau.utils.data as data

    return data


class Squares:
    def __len__(self):
        return 10

    def __getitem__(self, i):
        return i, float(i * i)


def test_tensor_dataset(torch, data):
    x, y = torch.tensor([[1.0], [2.0], [3.0]]), torch.tensor([1, 2, 3])
    batches = list(data.DataLoader(data.TensorDataset(x, y), batch_size=2))
    assert [type(b) for b in batches] == [list, list]
    assert [b[0].tolist() for b in batches] == [[[1.0], [2.0]], [[3.0]]]
    assert [b[1].tolist() for b in batches] == [[1, 2], [3]]
    assert len(data.DataLoader(data.TensorDataset(x, y), batch_size=2, drop_last=True)) == 1


@pytest.mark.parametrize("workers", [0, 1, 2, 3])
def test_order_does_not_depend_on_workers(torch, data, workers):
    def epochs(loader):
        return [[b[0].tolist() for b in loader] for _ in range(2)]

    for dataset in Squares(), data.TensorDataset(torch.tensor(list(range(10)))):
        torch.manual_seed(3)
        expected = epochs(data.DataLoader(dataset, batch_size=3, shuffle=True))
        torch.manual_seed(3)
        found = epochs(data.DataLoader(dataset, batch_size=3, shuffle=True, num_workers=workers))
        assert found == expected
        assert sorted(sum(found[0], [])) == list(range(10)) and found[0] != found[1]


def test_workers_are_threads_that_know_themselves(torch, data):
    class Who:
        def __len__(self):
            return 8

        def __getitem__(self, i):
            info = data.get_worker_info()
            assert info.num_workers == 2 and info.dataset is self
            return threading.get_ident()

    assert data.get_worker_info() is None
    for batch in data.DataLoader(Who(), num_workers=2):
        assert batch.item() != threading.get_ident()


def test_more_workers_than_cores_are_warned_of(data):
    cores = len(os.sched_getaffinity(0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data.DataLoader(range(4), num_workers=cores)
    with pytest.warns(UserWarning, match="excessive worker creation might get DataLoader running"):
        data.DataLoader(range(4), num_workers=cores + 1)


def test_exception_of_a_worker(torch, data):
    problem = KeyError("sample 5")

    class Bad(Squares):
        def __getitem__(self, i):
            if i == 5:
                raise problem
            return i

    seen = []
    with pytest.raises(KeyError) as found:
        for batch in data.DataLoader(Bad(), num_workers=2):
            seen.append(batch.item())
    assert found.value is problem and seen == [0, 1, 2, 3, 4]
    assert "__getitem__" in str([entry.name for entry in found.traceback])


def test_collation(torch, data):
    Point = collections.namedtuple("Point", "x y")
    batch = data.default_collate(
        [
            {"a": 1, "p": Point(1.0, np.float32(2)), "s": "u"},
            {"a": 2, "p": Point(3.0, np.float32(4)), "s": "v"},
        ]
    )
    assert batch["a"].tolist() == [1, 2] and batch["a"].dtype is torch.int64
    assert batch["p"].x.tolist() == [1, 3] and batch["p"].x.dtype is torch.float64
    assert batch["p"].y.dtype is torch.float32 and batch["s"] == ["u", "v"]
    with pytest.raises(TypeError, match="default_collate: batch must contain"):
        data.default_collate([object()])


def test_pinned_memory_without_an_accelerator(torch, data):
    loader = data.DataLoader(range(3), pin_memory=True)
    if torch.accelerator.is_available():
        assert all(batch.is_pinned() for batch in loader)
        return
    with pytest.warns(UserWarning, match="no accelerator is found"):
        assert [int(batch) for batch in loader] == [0, 1, 2]


def test_samplers(torch, data):
    weights = data.WeightedRandomSampler([0.0, 1.0, 0.0], 5)
    assert list(weights) == [1] * 5
    assert sorted(data.SubsetRandomSampler([4, 7, 9])) == [4, 7, 9]
    endless = data.RandomSampler(range(3), replacement=True, num_samples=10**10)
    assert set(itertools.islice(endless, 100)) == {0, 1, 2}
    assert list(data.BatchSampler(range(5), 2, False)) == [[0, 1], [2, 3], [4]]
    generator = torch.Generator().manual_seed(1)
    parts = data.random_split(list(range(10)), [0.7, 0.3], generator)
    assert [len(p) for p in parts] == [7, 3]
    assert sorted([*parts[0].indices, *parts[1].indices]) == list(range(10))


def test_iterable(data):
    class Count(data.IterableDataset):
        def __iter__(self):
            return iter(range(5))

    assert [b.tolist() for b in data.DataLoader(Count(), batch_size=2)] == [[0, 1], [2, 3], [4]]
    with pytest.raises(ValueError, match="IterableDataset"):
        data.DataLoader(Count(), shuffle=True)


def test_workers_of_an_iterable_take_turns(data):
    class Span(data.IterableDataset):
        def __init__(self, start, end):
            self.start, self.end = start, end

        def __iter__(self):
            return iter(range(self.start, self.end))

    def split(worker):
        info = data.get_worker_info()
        assert info.id == worker and info.num_workers == 2 and info.dataset is not whole
        half = (whole.start + whole.end) // 2
        info.dataset.start, info.dataset.end = (whole.start, half) if worker == 0 else (half, 10)

    def workers_of(samples):
        return data.get_worker_info().id, samples

    whole = Span(3, 10)
    assert list(data.DataLoader(whole, num_workers=2, batch_size=None)) == [
        n for n in range(3, 10) for _ in range(2)
    ]
    loader = data.DataLoader(whole, 2, num_workers=2, worker_init_fn=split, collate_fn=workers_of)
    expected = [(0, [3, 4]), (1, [6, 7]), (0, [5]), (1, [8, 9])]
    assert list(loader) == expected and data.get_worker_info() is None
    assert (whole.start, whole.end) == (3, 10)
    running = iter(loader)
    next(running)
    other = data.DataLoader(whole, 2, num_workers=2, worker_init_fn=split, collate_fn=workers_of)
    other.load_state_dict(loader.state_dict())
    assert list(other) == list(running) == expected[1:]
    short = data.DataLoader(
        whole, 2, num_workers=2, worker_init_fn=split, collate_fn=workers_of, drop_last=True
    )
    assert list(short) == [expected[0], expected[1], expected[3]]


def test_options_that_exclude_each_other(data):
    with pytest.raises(ValueError, match="mutually exclusive with shuffle"):
        data.DataLoader(Squares(), shuffle=True, sampler=[0])
    with pytest.raises(ValueError, match="non-negative"):
        data.DataLoader(Squares(), num_workers=-1)


# ---- continuing inside an epoch


class Noisy:
    """Samples with a random part, drawn by whoever fetches them."""

    def __init__(self, torch):
        self.torch = torch

    def __len__(self):
        return 11

    def __getitem__(self, i):
        return i + self.torch.rand(())


def _loader(torch, data, kind, workers):
    generator = torch.Generator().manual_seed(5) if kind == "own generator" else None
    dataset = data.TensorDataset(torch.arange(11)) if kind == "tensors" else Noisy(torch)
    if kind == "batch sampler":
        sampler = data.BatchSampler(data.RandomSampler(dataset), 2, False)
        return data.DataLoader(dataset, batch_sampler=sampler, num_workers=workers)
    if kind == "weighted":
        sampler = data.WeightedRandomSampler(range(1, 12), 9)
        return data.DataLoader(dataset, 2, sampler=sampler, num_workers=workers)
    return data.DataLoader(dataset, 2, shuffle=True, num_workers=workers, generator=generator)


def _values(batches):
    return [(b[0] if isinstance(b, list) else b).tolist() for b in batches]


@pytest.mark.parametrize("kind", ["tensors", "noisy", "own generator", "batch sampler", "weighted"])
@pytest.mark.parametrize("workers", [0, 2])
def test_a_checkpoint_continues_inside_an_epoch(torch, data, kind, workers):
    torch.manual_seed(7)
    loader = _loader(torch, data, kind, workers)
    first_epoch = _values(loader)
    running = iter(loader)
    _values(itertools.islice(running, 3))
    saved, random_state = json.loads(json.dumps(loader.state_dict())), torch.get_rng_state()
    rest, next_epoch = _values(running), _values(loader)
    assert len(rest) == len(first_epoch) - 3 and _values(loader) != next_epoch != first_epoch
    for other_workers in 0, 1, 3:
        torch.manual_seed(99)
        other = _loader(torch, data, kind, other_workers)
        torch.set_rng_state(random_state)
        other.load_state_dict(saved)
        assert other.state_dict() == saved
        assert _values(other) == rest
        assert torch.get_rng_state().tolist() == random_state.tolist()
        assert _values(other) == next_epoch


def test_states_between_epochs_and_at_their_end(torch, data):
    loader = data.DataLoader(Squares(), 5)
    between = loader.state_dict()
    running = iter(loader)
    next(running), next(running)
    at_end = loader.state_dict()
    assert list(running) == [] and loader.state_dict() == between
    other = data.DataLoader(Squares(), 5)
    other.load_state_dict(at_end)
    assert len(list(other)) == 0 and len(list(other)) == 2
    other.load_state_dict(between)
    assert len(list(other)) == 2
    shorter = data.DataLoader([1, 2], 5)
    shorter.load_state_dict(at_end)
    with pytest.raises(ValueError, match="stands at batch 2"):
        iter(shorter)
    with pytest.raises(ValueError, match="not the state_dict"):
        loader.load_state_dict({})


def test_an_iterable_continues_by_running_through(data):
    class Count(data.IterableDataset):
        def __iter__(self):
            return iter(range(7))

    loader = data.DataLoader(Count(), 2)
    running = iter(loader)
    next(running), next(running)
    other = data.DataLoader(Count(), 2)
    other.load_state_dict(loader.state_dict())
    assert [b.tolist() for b in other] == [b.tolist() for b in running] == [[4, 5], [6]]


def test_random_draws_of_a_data_set_follow_from_batch_and_epoch(torch, data):
    def epochs(workers):
        torch.manual_seed(3)
        loader = data.DataLoader(Noisy(torch), 4, num_workers=workers)
        return [_values(loader) for _ in range(2)]

    expected = epochs(0)
    assert expected[0] != expected[1]
    assert epochs(1) == epochs(2) == expected


@pytest.mark.parametrize("workers", [0, 2])
def test_indices_may_be_anything(data, workers):
    words = {"a": 1, ("b", 2): 2, "c": 3}
    loader = data.DataLoader(words, 2, sampler=list(words), num_workers=workers)
    assert [b.tolist() for b in loader] == [[1, 2], [3]]


def test_an_interrupt_ends_the_wait_for_a_worker(data, monkeypatch):
    """Ctrl-C is heard while no batch comes, and the worker stops before its next sample."""
    gate, asked = threading.Semaphore(0), []

    class Blocked(Squares):
        def __getitem__(self, i):
            asked.append(i)
            gate.acquire(timeout=60)
            return i

    class Watched:
        """The library's blocking calls; says when the wait has begun."""

        def __getattr__(self, name):
            waiting.set()
            return getattr(blocking, name)

    def interrupt():
        waiting.wait(60)
        signal.raise_signal(signal.SIGINT)

    loader = data.DataLoader(Blocked(), batch_size=10, num_workers=1)
    batches, waiting, blocking = iter(loader), threading.Event(), data.dataloader._blocking
    monkeypatch.setattr(data.dataloader, "_blocking", Watched())
    thread = threading.Thread(target=interrupt)
    # A shell's background jobs begin with the signal ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            next(batches)
    finally:
        signal.signal(signal.SIGINT, before)
    thread.join()
    monkeypatch.undo()
    while not asked:
        pass  # the worker is slow to start
    gate.release()
    del batches  # waits for the worker
    assert asked == [0]
    gate.release(10)
    assert next(iter(loader)).tolist() == list(range(10))


def test_timeout(torch, data):
    gate = threading.Event()

    class Slow(Squares):
        def __getitem__(self, i):
            assert i == 0 or gate.wait(60)
            return i

    loader = data.DataLoader(Slow(), 2, num_workers=1, timeout=0.02, prefetch_factor=1)
    batches = iter(loader)
    with pytest.raises(RuntimeError, match="DataLoader timed out after 0.02 seconds"):
        next(batches)
    assert loader.state_dict()["batches"] == 0
    gate.set()
    seen = []
    while len(seen) < 5:  # a machine under load may time out again: no batch is lost
        try:
            seen.append(next(batches).tolist())
        except RuntimeError as problem:
            assert "timed out" in str(problem)
    assert sum(seen, []) == list(range(10))
    assert list(data.DataLoader(Squares(), num_workers=1, timeout=60))[9][0].tolist() == [9]
    with pytest.raises(AssertionError, match="timeout needs workers"):
        iter(data.DataLoader(Squares(), timeout=1))


def test_numbers_beyond_reason(torch, data):
    samples = data.TensorDataset(torch.arange(5))
    with pytest.raises(RuntimeError, match="num_workers must be at most"):
        list(data.DataLoader(samples, num_workers=100_000))
    (only,) = data.DataLoader(samples, batch_size=2**63 - 1)
    assert only[0].tolist() == [0, 1, 2, 3, 4]


def test_a_forked_child_can_drop_a_loader(torch, data):
    loader = data.DataLoader(data.TensorDataset(torch.arange(500)), num_workers=2)
    batches = iter(loader)
    next(batches)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            next(batches)
        except RuntimeError as e:
            code = 0 if "make a loader in the child" in str(e) else 2
        del batches, loader
        gc.collect()
        os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert len(list(batches)) == 499


def test_subsets_are_asked_for_several_samples_at_once(torch):
    class Squares(torch.utils.data.Dataset):
        def __len__(self):
            return 10

        def __getitem__(self, i):
            raise AssertionError("asked one by one")

        def __getitems__(self, indices):
            return [i * i for i in indices]

    subset = torch.utils.data.Subset(Squares(), [5, 6, 7])
    assert [b.tolist() for b in torch.utils.data.DataLoader(subset, batch_size=2)] == [
        [25, 36],
        [49],
    ]


def test_what_a_loader_was_made_with_stays(torch):
    data = torch.utils.data.TensorDataset(torch.arange(4))
    loader = torch.utils.data.DataLoader(data, num_workers=1, multiprocessing_context="spawn")
    assert loader.prefetch_factor == 2
    assert loader.multiprocessing_context.get_start_method() == "spawn"
    for name in ("batch_size", "sampler", "batch_sampler", "drop_last", "dataset"):
        with pytest.raises(ValueError, match=f"{name} attribute should not be set after"):
            setattr(loader, name, None)
    with pytest.raises(ValueError, match="can only be used with multi-process loading"):
        torch.utils.data.DataLoader(data, multiprocessing_context="fork")
    with pytest.raises(ValueError, match="should specify a valid start method"):
        torch.utils.data.DataLoader(data, num_workers=1, multiprocessing_context="x")


def test_mappings_keep_their_class(torch):
    import collections

    collate = torch.utils.data.default_collate
    counted = collections.defaultdict(int, a=1)
    made = collate([counted, counted])
    assert type(made) is collections.defaultdict and made["a"].tolist() == [1, 1] and made["b"] == 0
    ordered = collate([collections.OrderedDict(a=1.0), collections.OrderedDict(a=2.0)])
    assert type(ordered) is collections.OrderedDict and ordered["a"].tolist() == [1, 2]
    np = pytest.importorskip("numpy")
    words = np.array("word")
    assert torch.utils.data.default_convert({"w": words})["w"] is words


def test_stacked_datasets_are_asked_for_batches(torch):
    from flambeau.utils.data import ChainDataset, Dataset, StackDataset

    class Many(Dataset):
        def __init__(self, short=0):
            self.short = short

        def __len__(self):
            return 4

        def __getitem__(self, index):
            raise AssertionError("one by one")

        def __getitems__(self, indices):
            return [10 * i for i in indices][: len(indices) - self.short]

    letters = list("abcd")
    assert StackDataset(Many(), letters).__getitems__([2, 0]) == [(20, "c"), (0, "a")]
    assert StackDataset(x=Many(), y=letters).__getitems__([1]) == [{"x": 10, "y": "b"}]
    batch = next(iter(torch.utils.data.DataLoader(StackDataset(Many(), letters), batch_size=2)))
    assert batch[0].tolist() == [0, 10] and batch[1] == ["a", "b"]
    with pytest.raises(ValueError, match="Expected 2, got 1"):
        StackDataset(Many(short=1)).__getitems__([0, 1])
    with pytest.raises(ValueError, match="Supported either"):
        StackDataset(letters, x=letters)
    with pytest.raises(AssertionError, match="only supports IterableDataset"):
        list(ChainDataset([letters]))


def test_workers_of_every_kind_of_data_set_begin_with_the_programs_function(torch, data):
    begun = []
    tensors = data.TensorDataset(torch.arange(4))
    for dataset in (tensors, data.Subset(tensors, range(4)), list(range(4))):
        begun.clear()
        assert len(list(data.DataLoader(dataset, num_workers=2, worker_init_fn=begun.append))) == 4
        assert begun and set(begun) <= {0, 1}

    def fails(number):
        raise RuntimeError("no worker")

    with pytest.raises(RuntimeError, match="no worker"):
        list(data.DataLoader(tensors, num_workers=1, worker_init_fn=fails))


LEFT_OPEN = """
import flambeau as torch
from flambeau.utils.data import DataLoader

class Slow(torch.utils.data.Dataset):
    def __len__(self):
        return 1000

    def __getitem__(self, i):
        if i == 4 and FAILS:
            raise ValueError(i)
        return sum(range(20000)) + i

loader = DataLoader(Slow(), batch_size=2, num_workers=3, persistent_workers=KEPT)
try:
    for batch in loader:
        break
    batches = iter(loader)
    next(batches), next(batches), next(batches)
except ValueError:
    pass
"""


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("kept", [False, True])
def test_a_program_may_end_while_workers_run(fails, kept):
    program = LEFT_OPEN.replace("FAILS", str(fails)).replace("KEPT", str(kept))
    ignored = "-W", "ignore:This DataLoader will create"
    done = child.python(*ignored, "-c", program, timeout=60)
    assert done.returncode == 0 and not done.stderr, done.stderr


def test_an_iterable_data_set_orders_itself(data):
    class Counting(data.IterableDataset):
        def __iter__(self):
            return iter(range(4))

    for name, option in (("shuffle", True), ("sampler", [1]), ("batch_sampler", [[1]])):
        with pytest.raises(ValueError, match=f"expected unspecified {name} option"):
            data.DataLoader(Counting(), **{name: option})


def test_arrays_of_words_are_kept_and_refused_inside_of_others(torch):
    from flambeau.utils.data import default_collate

    words = np.array(["a", "b", "c"])
    assert default_collate(words) is words and default_collate(list(words)) == ["a", "b", "c"]
    for wrong in (words.reshape(1, 1, 3), np.array([object(), object()])):
        with pytest.raises(TypeError, match="must contain tensors, numpy arrays"):
            default_collate(wrong)
