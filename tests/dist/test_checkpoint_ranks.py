"""Checkpoints of several ranks: pieces are spread over them and fit another number of ranks, a
failure of one is everybody's error, and a rank that is killed while saving costs no checkpoint."""

import errno
import os
import random
import signal
import threading
import time
import warnings

import pytest

import flambeau as torch
import flambeau.distributed as dist
import flambeau.distributed.checkpoint as dcp
from tests.dist import ranks

warnings.filterwarnings("ignore", "Detected an existing checkpoint")
ROWS = 7


def start(rank, size, timeout=20):
    import datetime

    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=timeout))


def rows(rank, size):
    """Which rows of a tensor are this rank's: none for the last of many."""
    each = -(-ROWS // size)
    return min(ROWS, rank * each), min(ROWS, (rank + 1) * each)


def whole(value):
    return torch.arange(ROWS * 3.0).reshape(ROWS, 3) + 1000 * value


def sharded(rank, size, value=None):
    """Its rows, or room for them."""
    first, last = rows(rank, size)
    local = torch.zeros(last - first, 3) if value is None else whole(value)[first:last].clone()
    local.global_shape = (ROWS, 3)
    local.global_offsets, local.local_offsets = ((first, 0),), ((0, 0),)
    local.local_sizes = ((last - first, 3),)
    return local


def state(rank, size, value=None):
    known = value is not None
    return {
        "rows": sharded(rank, size, value),
        **{f"all{i}": torch.full((50,), float(value if known else -1)) for i in range(4)},
        "value": value,
        f"rank{rank}": [rank, value],
    }


def read(folder, rank=0, size=1, alone=True):
    """The value of the whole checkpoint in a directory."""
    found = state(rank, size)
    if not alone:
        del found[f"rank{rank}"]
    else:
        found.pop("rank0")
    dcp.load(found, checkpoint_id=folder, no_dist=alone)
    first, last = rows(rank, size)
    assert torch.equal(found["rows"], whole(found["value"])[first:last])
    for i in range(4):
        assert found[f"all{i}"].tolist() == [found["value"]] * 50
    return found["value"]


def save_and_load(rank, size, folder, other):
    start(rank, size)
    found = read(other, rank, size, alone=False) if other else None
    metadata = dcp.save(state(rank, size, size), checkpoint_id=folder)
    assert read(folder, rank, size, alone=False) == size
    future = dcp.async_save(state(rank, size, 5), checkpoint_id=folder + "-async")
    sum_ = torch.ones(1)
    dist.all_reduce(sum_)  # the program goes on meanwhile
    future.result()
    assert read(folder + "-async", rank, size, alone=False) == 5
    dist.destroy_process_group()
    chunks = metadata.state_dict_metadata["rows"].chunks
    return [found, len(chunks), sum_.item()]


def test_another_number_of_ranks(tmp_path):
    two, three = str(tmp_path / "2"), str(tmp_path / "3")
    assert ranks.values(save_and_load, 2, two, None) == [[None, 2, 2.0]] * 2
    assert len(list((tmp_path / "2").glob("save-*.safetensors"))) == 2
    sizes = [f.stat().st_size for f in (tmp_path / "2").glob("save-*")]
    assert max(sizes) < 1.3 * min(sizes)  # what both have is shared out
    assert read(two) == 2
    assert ranks.values(save_and_load, 3, three, two) == [[2, 3, 3.0]] * 3
    assert read(three) == 3
    found = {"rank2": None}
    dcp.load(found, checkpoint_id=three, no_dist=True)
    assert found["rank2"] == [2, 3]
    assert ranks.values(save_and_load, 2, two, three) == [[3, 2, 2.0]] * 2


def save_and_leave(rank, size, folder):
    """The job's group, or one that was given for the save, ends while the save goes on."""
    start(rank, size)
    given = dist.new_group(backend="gloo")
    write = dcp.FileSystemWriter.write

    def slow(*arguments):
        time.sleep(0.5)
        return write(*arguments)

    dcp.FileSystemWriter.write = slow
    futures = []
    for value, group in enumerate((given, None)):
        name = f"{folder}/{value}"
        values = state(rank, size, value)
        futures.append(dcp.async_save(values, checkpoint_id=name, process_group=group))
        dist.destroy_process_group(group)
    return [future.done() and future.exception() is None for future in futures]


def test_the_group_ends_after_the_save(tmp_path):
    assert ranks.values(save_and_leave, 2, str(tmp_path)) == [[True, True]] * 2
    assert [read(str(tmp_path / str(value))) for value in range(2)] == [0, 1]


def fail_on_one(rank, size, folder):
    """A full disk, another shape, and a file that is cut, on rank 1 alone."""
    start(rank, size)
    texts = []

    def failing(call):
        try:
            call()
        except dcp.CheckpointException as problem:
            dist.barrier()  # each removes its own
            texts.append([str(problem), sorted(problem.failures), sorted(os.listdir(folder))])

    dcp.save(state(rank, size, 1), checkpoint_id=folder)
    real = os.write

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if rank == 1:
        os.write = full
    failing(lambda: dcp.save(state(rank, size, 2), checkpoint_id=folder))
    os.write = real
    odd = {"rows": torch.zeros(3 + rank)}
    failing(lambda: dcp.save(odd, checkpoint_id=folder))
    assert read(folder, rank, size, alone=False) == 1
    dist.barrier()
    if rank == 0:  # a file of which only rank 1 reads
        (name,) = (n for n in os.listdir(folder) if n.endswith("-r1.safetensors"))
        os.truncate(f"{folder}/{name}", 100)
    dist.barrier()
    target = state(rank, size)
    del target[f"rank{rank}"]
    only = {"rows": target["rows"]}
    failing(lambda: dcp.load(only, checkpoint_id=folder))
    assert not target["rows"].any()
    dist.destroy_process_group()
    return texts


def test_a_failure_of_one_is_everybodys(tmp_path):
    folder = str(tmp_path / "checkpoint")
    first, second = ranks.values(fail_on_one, 2, folder)
    for texts in first, second:
        (full, who, left), (odd, _, _), (cut, reader, _) = texts
        assert "rank 1: OSError: [Errno 28] No space left on device" in full and who == [1]
        assert "rows is float32 of shape [3] on rank 0, and float32 of shape [4] on rank 1" in odd
        assert "100 bytes long" in cut and reader == [1]
    assert len(left) == 3  # the former checkpoint's


def fill_the_disk(rank, size, folder):
    """Every call of the system that a save makes finds the disk full, on one rank and the other."""
    start(rank, size)
    names = "open", "write", "fsync", "replace"
    real, whole, failed = {name: getattr(os, name) for name in names}, 1, 0
    dcp.save(state(rank, size, whole), checkpoint_id=folder)
    files = 3

    def patched(call, countdown):
        def run(*given, **options):
            countdown[0] -= 1
            if countdown[0] == 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return call(*given, **options)

        return run

    for who in range(size):
        for n in range(1, 100):
            countdown, problem = [n if rank == who else -1], None
            for name, call in real.items():
                setattr(os, name, patched(call, countdown))
            try:
                dcp.save(state(rank, size, whole + 1), checkpoint_id=folder)
            except dcp.CheckpointException as caught:
                problem = caught
            for name, call in real.items():
                setattr(os, name, call)
            dist.barrier()
            found = read(folder, rank, size, alone=False)
            assert found in (whole, whole + 1) and (problem or found == whole + 1)
            # Both are there where the new one may not have got to the disk.
            expected = files if found == whole else files + 2 if problem else 3
            files = len(os.listdir(folder))
            dist.barrier()
            assert files == expected
            whole = found
            if problem is None:
                break
            assert list(problem.failures) == [who] and "No space left" in str(problem)
            failed += 1
    dist.destroy_process_group()
    return [failed, whole]


def test_a_disk_that_is_full_on_one_rank(tmp_path):
    first, second = ranks.values(fill_the_disk, 2, str(tmp_path / "checkpoint"))
    assert first == second and first[0] >= 15 and first[1] >= 3


def save_on(rank, size, folder, seed, doomed):
    """Saves on and on; the doomed rank is killed at some time."""
    start(rank, size, timeout=4)
    value = read(folder, rank, size, alone=False)
    if rank == doomed:
        wait = random.Random(seed).uniform(0, 0.06)
        dist.barrier()
        threading.Timer(wait, os.kill, (os.getpid(), signal.SIGKILL)).start()
    else:
        dist.barrier()
    began = time.monotonic()
    while time.monotonic() < began + 10:
        value += 1
        try:
            dcp.save(state(rank, size, value), checkpoint_id=folder)
        except (dist.DistError, dcp.CheckpointException):
            return [value, time.monotonic() - began]
    raise AssertionError("nobody was killed")


@pytest.mark.parametrize("doomed", [0, 1])
def test_a_rank_that_is_killed_while_saving(tmp_path, doomed):
    folder, last = str(tmp_path), 0
    dcp.save(state(0, 1, last), checkpoint_id=folder, no_dist=True)
    for seed in range(3):
        found = ranks.run(save_on, 2, folder, seed, doomed, timeout=25)
        assert found[doomed].code == -signal.SIGKILL
        alive = found[1 - doomed]
        assert alive.code == 0, alive.output
        value, seconds = alive.value
        assert seconds < 6
        assert read(folder) in (value - 1, value) and read(folder) >= last
        last = read(folder)


class Mesh:
    """A mesh with one dimension, as tensors sharded over ranks have it."""

    def __init__(self, rank, size):
        self.rank, self.length = rank, size

    def get_coordinate(self):
        return [self.rank]

    def size(self, dim=None):
        return self.length


class Sharded:
    """What a tensor over a mesh shows of itself."""

    def __init__(self, local, shape, mesh, placements):
        self.local, self.shape, self.device_mesh = local, shape, mesh
        self.placements, self.device, self.dtype = placements, local.device, local.dtype

    def to_local(self):
        return self.local


def over_a_mesh(rank, size, folder):
    from flambeau.distributed.checkpoint.utils import find_state_dict_object
    from flambeau.distributed.tensor import Partial, Replicate, Shard

    start(rank, size)
    full = torch.arange(5 * 4.0).reshape(5, 4)
    mesh, (low, high) = Mesh(rank, size), ((0, 3), (3, 5))[rank]
    made = {
        "rows": Sharded(full[low:high], (5, 4), mesh, (Shard(0),)),
        "columns": Sharded(full[:, 2 * rank : 2 * rank + 2], (5, 4), mesh, (Shard(1),)),
        "copies": Sharded(full, (5, 4), mesh, (Replicate(),)),
    }
    index = dcp.metadata.MetadataIndex("rows", (low, 0))
    assert find_state_dict_object(made, index).tolist() == full[low:high].tolist()
    dcp.save(made, checkpoint_id=folder)
    target = torch.zeros(5, 2)
    other = {"rows": Sharded(target, (5, 4), mesh, (Shard(-1),))}
    dcp.load(other, checkpoint_id=folder)
    assert torch.equal(target, full[:, 2 * rank : 2 * rank + 2])
    try:
        term = {"term": Sharded(full, (5, 4), mesh, (Partial(),))}
        dcp.save(term, checkpoint_id=folder + "-term")
    except dcp.CheckpointException as problem:
        dist.destroy_process_group()
        return sorted(problem.failures) == [0, 1] and "redistribute it first" in str(problem)


def test_tensors_over_a_mesh(tmp_path):
    folder = str(tmp_path / "checkpoint")
    assert ranks.values(over_a_mesh, 2, folder) == [True, True]
    full = torch.arange(5 * 4.0).reshape(5, 4)
    found = {name: torch.zeros(5, 4) for name in ("rows", "columns", "copies")}
    dcp.load(found, checkpoint_id=folder, no_dist=True)
    assert all(torch.equal(value, full) for value in found.values())


def from_the_first_rank(rank, size):
    """Only rank 0 has the state dicts; the others' tensors, sharded ones too, become theirs."""
    from flambeau.distributed.checkpoint import _full, state_dict
    from flambeau.distributed.tensor import Shard

    start(rank, size)
    options = state_dict.StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
    torch.manual_seed(rank)
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1 + rank)
    for _ in range(1 + rank):
        model(torch.randn(4, 2)).square().sum().backward()
        optimizer.step()
    given = [{}, {}]
    if rank == 0:
        given = state_dict.get_state_dict(model, optimizer, options=options)
    state_dict.set_state_dict(
        model, optimizer, model_state_dict=given[0], optim_state_dict=given[1], options=options
    )
    state = optimizer.state_dict()
    found = [sum(v.double().sum().item() for v in model.state_dict().values())]
    found += [v["exp_avg"].sum().item() + v["step"].item() for v in state["state"].values()]
    found.append(state["param_groups"][0]["lr"])
    local = torch.zeros(1, 3)
    own = {"w": Sharded(local, (2, 3), Mesh(rank, size), (Shard(0),))}
    full = {"w": torch.arange(6.0).reshape(2, 3), "n": [1, 2]} if rank == 0 else {}
    taken = _full.taken(full, own, options)
    offload = state_dict.StateDictOptions(full_state_dict=True, cpu_offload=True)
    kept = len(state_dict.get_model_state_dict(model, options=offload))
    dist.destroy_process_group()
    return [found, local.tolist(), taken["w"] is own["w"], taken["n"], kept]


def test_state_dicts_from_the_first_rank():
    first, second = ranks.values(from_the_first_rank, 2)
    assert first[0] == second[0] and len(first[0]) == 6
    assert first[1:] == [[[0, 1, 2]], True, [1, 2], 7]
    assert second[1:] == [[[3, 4, 5]], True, [1, 2], 0]
