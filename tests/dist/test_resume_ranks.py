"""Trainings on two ranks that are killed go on with the same losses, bit for bit, and with another
number of ranks they go on, too."""

import os
import random
import shutil
import signal

import flambeau as torch
import flambeau.distributed as dist
from flambeau import nn
from flambeau.distributed.elastic import resumable
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
            losses[run.step] = loss.item().hex()
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
