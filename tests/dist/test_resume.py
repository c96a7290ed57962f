"""Trainings that end at any step, by an error or by kill -9, go on from their last snapshot with
the losses that they would have had, bit for bit."""

import functools
import os
import random
import warnings

import numpy
import pytest

import flambeau as torch
from flambeau import nn
from flambeau.distributed.checkpoint import CheckpointException
from flambeau.distributed.elastic import resumable
from flambeau.utils.data import (
    DataLoader,
    IterableDataset,
    RandomSampler,
    TensorDataset,
    WeightedRandomSampler,
)
from flambeau.utils.data.distributed import DistributedSampler

EPOCHS, ROWS = 3, 22


@functools.cache
def data():
    generator = torch.Generator().manual_seed(1)
    inputs = torch.randn(ROWS, 6, generator=generator)
    return TensorDataset(inputs, inputs.sum(1, keepdim=True).sin())


class Noisy:
    """A data set in Python, which draws from the program's generators."""

    def __init__(self):
        self.data = data()

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        inputs, target = self.data[i]
        return inputs + 0.1 * torch.rand(6), target


class Stream(IterableDataset):
    def __iter__(self):
        for i in torch.randperm(ROWS).tolist():
            yield data()[i]


LOADERS = {
    "shuffled": lambda: DataLoader(data(), 4, shuffle=True),
    "in order": lambda: DataLoader(data(), 4, drop_last=True),
    "own generator": lambda: DataLoader(
        data(), 4, shuffle=True, generator=torch.Generator().manual_seed(3), num_workers=2
    ),
    "replacement": lambda: DataLoader(
        data(),
        4,
        sampler=RandomSampler(data(), replacement=True, num_samples=26),
        num_workers=2,
        persistent_workers=True,
    ),
    "weights": lambda: DataLoader(data(), 4, sampler=WeightedRandomSampler([1.0] * ROWS, 18)),
    "python": lambda: DataLoader(Noisy(), 4, shuffle=True),
    "stream": lambda: DataLoader(Stream(), 4),
    "shared": lambda: DataLoader(data(), 4, sampler=DistributedSampler(data(), 2, 0)),
}
OPTIMIZERS = {
    "adamw": lambda p: torch.optim.AdamW(p, lr=1e-2, amsgrad=True),
    "sgd": lambda p: torch.optim.SGD(p, lr=1e-2, momentum=0.9),
    "lbfgs": lambda p: torch.optim.LBFGS(p, lr=0.1, max_iter=3),
}


class Ended(Exception):
    """As if the machine had failed."""


def train(folder, losses, end=None, loader="shuffled", optimizer="adamw", **when):
    """Notes the losses by step, and ends where it is to."""
    torch.manual_seed(0)
    random.seed(0)
    numpy.random.seed(0)
    model = nn.Sequential(
        nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Dropout(0.2), nn.Linear(8, 1)
    )
    batches, steps = LOADERS[loader](), OPTIMIZERS[optimizer](model.parameters())
    scheduler = torch.optim.lr_scheduler.ExponentialLR(steps, 0.9)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=3)
    run = resumable(folder, model=model, optimizer=steps, scheduler=scheduler, scaler=scaler,
                    loader=batches, **{"every": 3, **when})  # fmt: skip
    for epoch in run.epochs(EPOCHS):
        for inputs, targets in run.batches():
            if run.step == end:
                raise Ended
            noise = random.random() + float(numpy.random.rand()) + epoch
            losses[run.step] = step(model, steps, scaler, inputs + noise, targets)
            run.state["sum"] = run.state.get("sum", 0.0) + losses[run.step]
        scheduler.step()
        losses[f"epoch {epoch}"] = run.state["sum"]
    return run


def step(model, optimizer, scaler, inputs, targets):
    def closure():
        optimizer.zero_grad()
        loss = (model(inputs) - targets).square().mean()
        (loss if isinstance(optimizer, torch.optim.LBFGS) else scaler.scale(loss)).backward()
        return loss.detach()

    if isinstance(optimizer, torch.optim.LBFGS):
        return optimizer.step(closure).item()
    loss = closure()
    scaler.step(optimizer)
    scaler.update()
    return loss.item()


@pytest.mark.parametrize(
    "loader, optimizer",
    [*((name, "adamw") for name in LOADERS), ("shuffled", "sgd"), ("python", "lbfgs")],
)
def test_the_same_losses(tmp_path, loader, optimizer):
    how, expected = {"loader": loader, "optimizer": optimizer}, {}
    count = train(tmp_path / "whole", expected, **how).step
    assert count >= 9 and len(expected) == count + EPOCHS
    for end in sorted({2, 3, *range(4, count, 3), count - 1}):
        found = {}
        with pytest.raises(Ended):
            train(tmp_path / str(end), found, end, **how)
        again = {}
        run = train(tmp_path / str(end), again, **how)
        assert run.resumed == (end >= 3)
        assert min(k for k in again if isinstance(k, int)) == end // 3 * 3
        assert {**found, **again} == expected, end


def test_many_ends(tmp_path):
    expected, found, end = {}, {}, 1
    train(tmp_path / "whole", expected, every=1)
    while True:
        try:
            run = train(tmp_path / "some", found, end, every=1)
        except Ended:
            end += 2
        else:
            break
    assert run.resumed and found == expected and end > 15
    again = {}
    run = train(tmp_path / "some", again, every=1)  # there is nothing left to do
    assert again == {} and run.epoch == EPOCHS


def names(folder):
    return sorted(os.listdir(folder))


def test_two_snapshots_are_kept(tmp_path):
    (tmp_path / "step-000000001").mkdir()
    (tmp_path / "step-000000001" / "mine.txt").touch()
    (tmp_path / "step-000000002").mkdir()
    (tmp_path / "step-000000002" / "index.0123456789abcdef.part").touch()
    (tmp_path / "notes").touch()
    with pytest.raises(Ended):
        train(tmp_path, {}, 13)
    kept = ["notes", "step-000000001", "step-000000009", "step-000000012"]
    assert names(tmp_path) == kept and names(tmp_path / "step-000000001") == ["mine.txt"]
    with pytest.raises(Ended):
        train(tmp_path, {}, 16, keep=1)
    assert names(tmp_path) == ["notes", "step-000000001", "step-000000015"]


def cut(folder):
    (file,) = folder.glob("save-*")
    os.truncate(file, 100)


def test_a_damaged_snapshot_is_passed_over(tmp_path):
    expected, found = {}, {}
    train(tmp_path / "whole", expected)
    with pytest.raises(Ended):
        train(tmp_path / "run", found, 13)
    cut(tmp_path / "run" / "step-000000012")
    with pytest.warns(UserWarning, match="(?s)step 12 is passed over: .*100 bytes long"):
        train(tmp_path / "run", found, None)
    assert found == expected
    with pytest.raises(Ended):
        train(tmp_path / "lost", {}, 13)
    for step in (9, 12):
        cut(tmp_path / "lost" / f"step-{step:09}")
    with pytest.warns(UserWarning), pytest.raises(CheckpointException, match="100 bytes long"):
        train(tmp_path / "lost", {})


def test_snapshots_after_seconds(tmp_path):
    with pytest.raises(Ended):
        train(tmp_path / "often", {}, 7, every=None, seconds=1e-9)
    assert names(tmp_path / "often") == ["step-000000006", "step-000000007"]
    with pytest.raises(Ended):
        train(tmp_path / "seldom", {}, 7, every=None)
    assert not (tmp_path / "seldom").exists()
    run = train(tmp_path / "seldom", {}, every=None)
    assert names(tmp_path / "seldom") == [f"step-{run.step:09}"]


def test_epochs_without_loaders(tmp_path):
    model = nn.Linear(2, 2)
    run = resumable(tmp_path, model=model, every=1)
    seen = []
    for epoch in run.epochs(5):
        seen.append(epoch)
        if epoch == 2:
            break
        model.bias.data.fill_(epoch + 1)
    again = resumable(tmp_path, model=nn.Linear(2, 2), every=1)
    seen += again.epochs(5)
    assert seen == [0, 1, 2, 2, 3, 4] and again.resumed


def test_a_loop_that_is_left_early(tmp_path):
    def counted(folder, end):
        torch.manual_seed(0)
        model, loader = nn.Linear(6, 1), LOADERS["shuffled"]()
        run, seen = resumable(folder, model=model, loader=loader, every=100), []
        for epoch in run.epochs(4):
            for i, (inputs, _) in enumerate(run.batches()):
                if i == 3:
                    break
                seen.append((epoch, inputs.sum().item()))
            if epoch == end:
                return seen
            run.save()
        return seen

    whole = counted(tmp_path / "whole", None)
    first, rest = counted(tmp_path / "some", 1), counted(tmp_path / "some", None)
    assert len(whole) == 12 and len(first) == 6
    assert rest == whole[3:] and first == whole[:6]


def test_wrapped_or_not(tmp_path):
    store = torch.distributed.HashStore()
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        model = nn.parallel.DistributedDataParallel(nn.Linear(2, 2))
        resumable(tmp_path, model=model).save()
    finally:
        torch.distributed.destroy_process_group()
    other = nn.Linear(2, 2)
    assert resumable(tmp_path, model=other).resumed
    assert torch.equal(other.weight, model.module.weight)


@pytest.mark.parametrize(
    "options, text",
    [
        ({"every": 1, "seconds": 1}, "give every .steps. or seconds, not both"),
        ({"every": 0}, "every=0 must be a number above 0"),
        ({"keep": 1.5}, "keep=1.5 must be a number above 0"),
        ({"model": 3}, "model is a int, which has no state_dict"),
    ],
)
def test_wrong_arguments(tmp_path, options, text):
    with pytest.raises((ValueError, TypeError), match=text):
        resumable(tmp_path, **{"model": nn.Linear(1, 1), **options})


def test_another_program(tmp_path):
    with pytest.raises(ValueError, match="give what it shall hold"):
        resumable(tmp_path)
    run = resumable(tmp_path, model=nn.Linear(2, 2), loader=LOADERS["shuffled"]())
    with pytest.raises(ValueError, match="this loader is none of the parts"):
        next(run.batches(LOADERS["shuffled"]()))
    run.save()
    with pytest.raises(CheckpointException, match=r"parts \['model'\], and the program \['net'\]"):
        resumable(tmp_path, net=nn.Linear(2, 2), loader=LOADERS["shuffled"]())
    with pytest.raises(CheckpointException, match=r"loaders \['loader'\], and the program \[\]"):
        resumable(tmp_path, model=nn.Linear(2, 2))
    with pytest.raises(RuntimeError, match="size mismatch"), warnings.catch_warnings():
        resumable(tmp_path, model=nn.Linear(3, 2), loader=LOADERS["shuffled"]())


# ---- kill -9, and the launcher starts it again

SCRIPT = """
from tests.dist.test_resume import train
real, left = os.fsync, [5, 10, 14, -1][attempt]
def fsync(handle):  # three lives end within a save, each at another place
    global left
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
    real(handle)
os.fsync = fsync
found = {}
train(os.path.join(os.environ["OUT"], "snapshots"), found)
say("losses", found)
"""


def test_kills_and_restarts(tmp_path, launch):
    expected = {}
    train(tmp_path / "whole", expected)
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    path = os.pathsep.join([root, os.path.join(root, "bindings", "python")])
    job = launch(SCRIPT, "--max-restarts", "3", PYTHONPATH=path)
    _, err = job.done(0)
    assert err.count("was ended by signal SIGKILL") == 3 and "restart 3 of 3" in err
    (last,) = job.said("losses")
    expected = {str(k): v for k, v in expected.items()}
    assert 0 < len(last) < len(expected) and last.items() <= expected.items()
    assert names(tmp_path / "snapshots") == ["step-000000015", "step-000000018"]
