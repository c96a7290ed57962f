"""Samplers and data sets: orders, shares of ranks, errors."""

import pytest


@pytest.fixture
def data(torch):
    torch.manual_seed(0)
    return torch.utils.data


def test_a_share_for_every_rank(data):
    def shares(**options):
        return [
            list(data.DistributedSampler(range(10), num_replicas=4, rank=r, **options))
            for r in range(4)
        ]

    plain = shares(shuffle=False)
    assert plain == [[0, 4, 8], [1, 5, 9], [2, 6, 0], [3, 7, 1]]
    assert shares(shuffle=False, drop_last=True) == [[0, 4], [1, 5], [2, 6], [3, 7]]
    shuffled = shares(seed=3)
    assert sorted({i for share in shuffled for i in share}) == list(range(10))
    assert shuffled != plain and shuffled == shares(seed=3) and shuffled != shares(seed=4)
    sampler = data.distributed.DistributedSampler(range(10), 4, 1, seed=3)
    assert len(sampler) == 3
    first = list(sampler)
    sampler.set_epoch(1)
    assert list(sampler) != first
    few = [list(data.DistributedSampler([7], 3, r, shuffle=False)) for r in range(3)]
    assert few == [[0], [0], [0]]
    with pytest.raises(ValueError, match="Invalid rank 4, rank should be in the interval \\[0, 3"):
        data.DistributedSampler(range(10), 4, 4)


def test_weighted(torch, data):
    drawn = list(data.WeightedRandomSampler([0.0, 1.0, 3.0], 4000))
    assert 0 not in drawn and drawn.count(2) / drawn.count(1) == pytest.approx(3, rel=0.15)
    assert sorted(data.WeightedRandomSampler(torch.ones(5), 5, replacement=False)) == list(range(5))
    with pytest.raises(ValueError, match="num_samples should be a positive integer"):
        data.WeightedRandomSampler([1.0], 0)
    with pytest.raises(ValueError, match="weights should be a 1d sequence"):
        data.WeightedRandomSampler([[1.0]], 1)
    with pytest.raises(ValueError, match="replacement should be a boolean"):
        data.WeightedRandomSampler([1.0], 1, replacement=1)


def test_random_orders(torch, data):
    assert sorted(data.RandomSampler(range(6))) == list(range(6))
    assert len(list(data.RandomSampler(range(3), num_samples=7))) == 7
    assert set(data.RandomSampler(range(3), True, 50)) == {0, 1, 2}
    assert sorted(data.SubsetRandomSampler([4, 8])) == [4, 8]
    seeded = [
        list(data.RandomSampler(range(9), generator=torch.Generator().manual_seed(5)))
        for _ in range(2)
    ]
    assert seeded[0] == seeded[1]
    with pytest.raises(ValueError, match="positive integer value, but got num_samples=0"):
        data.RandomSampler([])


def test_batches(data):
    assert list(data.BatchSampler(range(7), 3, False)) == [[0, 1, 2], [3, 4, 5], [6]]
    assert list(data.BatchSampler(range(7), 3, True)) == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(ValueError, match="batch_size should be a positive integer"):
        data.BatchSampler(range(7), 0, False)


def test_splits_by_share(torch, data):
    parts = data.random_split(range(10), [0.5, 0.25, 0.25], torch.Generator().manual_seed(0))
    assert [len(p) for p in parts] == [6, 2, 2]
    assert sorted(i for part in parts for i in part) == list(range(10))
    with pytest.raises(ValueError, match="does not equal the length"):
        data.random_split(range(10), [4, 4])


def test_sets_of_sets(data):
    both = data.ConcatDataset([[1, 2], [3]])
    assert [both[i] for i in range(3)] == [1, 2, 3] and both[-1] == 3 and len(both) == 3
    stacked = data.StackDataset([1, 2], [3, 4])
    assert stacked[1] == (2, 4) and len(stacked) == 2
    assert data.StackDataset(a=[1], b=[2])[0] == {"a": 1, "b": 2}

    class Count(data.IterableDataset):
        def __iter__(self):
            return iter(range(3))

    chained = Count() + Count()
    assert list(chained) == [0, 1, 2, 0, 1, 2]
    assert [b.tolist() for b in data.DataLoader(Count(), batch_size=2)] == [[0, 1], [2]]


def test_orders_do_not_follow_the_default_device(torch, data):
    """They are numbers for Python, drawn by generators of the cpu."""

    def orders():
        return [
            list(data.RandomSampler(range(9))),
            list(data.RandomSampler(range(9), replacement=True, generator=seeded())),
            list(data.SubsetRandomSampler(range(9), generator=seeded())),
            list(data.SubsetRandomSampler(range(9))),
            list(data.WeightedRandomSampler(weights.tolist(), 9)),
            [part.indices for part in data.random_split(range(9), [4, 5])],
            list(data.WeightedRandomSampler(weights, 9, generator=seeded())),
            list(data.DistributedSampler(range(9), num_replicas=2, rank=1)),
            [part.indices for part in data.random_split(range(9), [4, 5], generator=seeded())],
        ]

    def seeded():
        return torch.Generator().manual_seed(3)

    weights = torch.arange(1.0, 10.0)
    torch.manual_seed(1)
    wanted = orders()
    torch.manual_seed(1)
    torch.set_default_device("meta")
    try:
        found = orders()
        lengths = torch.nn.utils.rnn.pack_sequence([torch.ones(2, 3), torch.ones(1, 3)])
    finally:
        torch.set_default_device("cpu")
    assert found == wanted and lengths.batch_sizes.tolist() == [2, 1]
