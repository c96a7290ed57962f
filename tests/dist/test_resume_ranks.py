"""Trainings on two ranks that are killed go on with the same losses, bit for bit, and with another
number of ranks they go on, too."""

import os
import random
import shutil
import signal

import flambeau as torch
import flambeau.distributed as dist
from flambeau import nn
from flambeau.distributed.checkpoint import CheckpointException
from flambeau.distributed.elastic import resumable
from flambeau.distributed.optim import ZeroRedundancyOptimizer
from flambeau.utils.data import DataLoader, TensorDataset
from flambeau.utils.data.distributed import DistributedSampler
from tests.dist import ranks


def train(rank, size, folder, end=None, doomed=None):
    """The losses of this rank by step, as numbers with all of their bits."""
    dist.init_process_group("gloo")
    torch.manual_seed(rank)
    inputs = torch.arange(48.0).reshape(24, 2).sin()
    data = TensorDataset(inputs, inputs.sum(1, keepdim=True))
    loader = DataLoader(data, 3, sampler=DistributedSampler(data))
    model = nn.Sequential(nn.Linear(2, 4), nn.Dropout(0.2), nn.Linear(4, 1))
    for p in model.parameters():
        dist.broadcast(p.data, 0)
    optimizer = torch.optim.Adam(model.parameters())
    run, losses = resumable(folder, model=model, optimizer=optimizer, loader=loader, every=3), {}
    real, fatal = os.write, random.Random(end).randrange(1, 5)

    def dying(*given):
        nonlocal fatal
        fatal -= run.step >= end
        if not fatal:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*given)

    if rank == doomed:
        os.write = dying
    begun = run.step
    for _ in run.epochs(3):
        for inputs, targets in run.batches():
            loss = (model(inputs) - targets).square().mean()
            optimizer.zero_grad()
            loss.backward()
            for p in model.parameters():
                dist.all_reduce(p.grad)
            optimizer.step()
            run.state["sum"] = run.state.get("sum", 0.0) + loss.item()  # another one on each rank
            losses[run.step] = run.state["sum"].hex()
    dist.destroy_process_group()
    return [begun, losses]


def test_killed_while_saving(tmp_path):
    whole = [losses for _, losses in ranks.values(train, 2, str(tmp_path / "whole"))]
    assert len(whole[0]) == len(whole[1]) == 12
    for end, doomed in ((3, 0), (6, 1)):
        folder = str(tmp_path / str(end))
        found = ranks.run(train, 2, folder, end, doomed)
        assert found[doomed].code == -signal.SIGKILL
        assert found[1 - doomed].code == 1 and "Error" in found[1 - doomed].output
        shutil.copytree(folder, folder + "-alone", dirs_exist_ok=True)
        for rank, (begun, losses) in enumerate(ranks.values(train, 2, folder)):
            assert begun in (end - 3, end)
            assert losses == {k: v for k, v in whole[rank].items() if int(k) >= begun}
    (alone,) = ranks.run(train, 1, folder + "-alone")
    assert alone.code == 0 and "the snapshot is of 2 ranks, and there are 1" in alone.output
    assert alone.value[0] == begun and len(alone.value[1]) == 8 * (3 - begun // 4)


class Failing:
    """A part whose state is an error on one rank."""

    def __init__(self, rank):
        self.rank = rank

    def state_dict(self):
        if self.rank == 1:
            raise ValueError("not now")
        return {"n": 1}

    def load_state_dict(self, state):
        """Nothing to do."""


def save_what_fails(rank, size, folder):
    dist.init_process_group("gloo")
    run = resumable(folder, model=nn.Linear(1, 1), part=Failing(rank))
    text = ""
    try:
        run.save()
    except CheckpointException as problem:
        text = str(problem)
    dist.barrier()
    dist.destroy_process_group()
    return text


def test_a_state_that_fails_on_one_rank_fails_on_all(tmp_path):
    for text in ranks.values(save_what_fails, 2, str(tmp_path)):
        assert "not now" in text and "rank 1" in text, text


def shared(rank, size, folder, end):
    """The losses of two steps with an optimizer whose state is spread over the ranks."""
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=0.1)
    parts = {"model": model, "optimizer": optimizer}
    run, losses = resumable(folder, **parts), []
    begun = resumable(f"{folder}-alone", optimizer=optimizer)
    while run.step < end:
        optimizer.zero_grad()
        loss = model(torch.ones(2, 3)).square().sum()
        loss.backward()
        optimizer.step()
        losses.append(loss.item().hex())
        run.step += 1
    run.save()
    begun.save()
    dist.destroy_process_group()
    return [begun.resumed, losses]


def test_an_optimizer_that_ranks_share(tmp_path):
    whole = ranks.values(shared, 2, str(tmp_path / "whole"), 4)
    first = ranks.values(shared, 2, str(tmp_path / "parts"), 2)
    rest = ranks.values(shared, 2, str(tmp_path / "parts"), 4)
    fewer = ranks.run(shared, 1, str(tmp_path / "parts"), 4)[0]  # says that there are fewer
    assert [a[1] + b[1] for a, b in zip(first, rest)] == [one[1] for one in whole]
    assert [one[0] for one in first + rest] == [False, False, True, True]
    assert fewer.code == 0 and fewer.value == [True, []], fewer.output
