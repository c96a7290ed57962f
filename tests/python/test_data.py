"""Data sets, samplers and the loader: order, collation, workers, exceptions."""

import collections
import itertools
import threading

import numpy as np
import pytest


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


def test_options_that_exclude_each_other(data):
    with pytest.raises(ValueError, match="mutually exclusive with shuffle"):
        data.DataLoader(Squares(), shuffle=True, sampler=[0])
    with pytest.raises(ValueError, match="non-negative"):
        data.DataLoader(Squares(), num_workers=-1)
