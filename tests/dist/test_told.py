"""What ranks tell each other in further ways: values that one computes, a debugger that all wait
for, vectors over a mesh, and gradients as one matrix of low rank."""

import datetime
import os

import pytest

from tests.dist import ranks


def _text(call, *kinds):
    try:
        return call()
    except kinds as error:
        return f"{type(error).__name__}: {error}"


class Strict(Exception):
    """One that is pickled but not unpickled."""

    def __init__(self, where, why):
        super().__init__(f"{where} {why}")


def told(rank, size):
    import flambeau.distributed as dist
    from flambeau.distributed import collective_utils as told

    dist.init_process_group(timeout=datetime.timedelta(seconds=20))
    group = dist.group.WORLD

    def broken():
        raise ValueError(f"no value {rank}")

    def strict():
        raise Strict("disk", "full")

    def only_on(one, function):
        return function if rank == one else lambda: rank

    found = {
        "one": told.broadcast(lambda: ["of", rank], rank=1, pg=group),
        "alone": [told.broadcast(5), told.all_gather(lambda: rank)],
        "each": told.all_gather(lambda: rank * 10, "stage", pg=group),
        "broken": _text(lambda: told.broadcast(broken, rank=1, pg=group), RuntimeError),
        "one broken": _text(lambda: told.all_gather(only_on(1, broken), pg=group), RuntimeError),
        "stages": _text(lambda: told.all_gather(1, f"s{rank}", pg=group), RuntimeError),
        "said": _text(lambda: told.broadcast(None, success=False, rank=1, pg=group), RuntimeError),
        "unsendable": [
            _text(lambda: told.broadcast(lambda: broken, rank=1, pg=group), RuntimeError),
            _text(lambda: told.broadcast(strict, rank=1, pg=group), RuntimeError),
            _text(lambda: told.all_gather(only_on(1, lambda: broken), pg=group), RuntimeError),
            _text(lambda: told.all_gather(only_on(1, strict), pg=group), RuntimeError),
        ],
        "misused": _text(lambda: told.broadcast(1, success=False), AssertionError),
        "types": _text(
            lambda: told.all_gather_object_enforce_type(group, [0] * size, [1, "a"][rank]),
            TypeError,
        ),
    }
    found["spaced"] = spaced(size)
    dist.destroy_process_group()
    return found


@pytest.fixture(scope="module")
def both():
    """What both ranks found in one job."""
    return ranks.values(told, 2)


def test_values_that_one_computes(both):
    for rank, one in enumerate(both):
        assert one["one"] == ["of", 1] and one["alone"] == [5, [rank]] and one["each"] == [0, 10]
        assert one["broken"] == "RuntimeError: Rank 1 failed: exception no value 1"
        assert one["one broken"].startswith("RuntimeError: ") and "no value 1" in one["one broken"]
        assert "Unexpected stage name received from rank 1: s1" in one["stages"]
        assert one["said"] == "RuntimeError: Rank 1 failed"
        assert one["misused"].startswith("AssertionError: Data or Function")
        assert one["types"].startswith("TypeError: Object type at index 1 is <class 'str'>")


def test_what_cannot_be_sent_fails_on_all_ranks(both):
    for rank, one in enumerate(both):
        values, errors = one["unsendable"][::2], one["unsendable"][1::2]
        assert all(v.startswith("RuntimeError: ") and "pickle" in v for v in values), values
        assert all(e.startswith("RuntimeError: ") and "Strict: disk full" in e for e in errors)


def stopped(rank, size):
    import flambeau.distributed as dist

    dist.init_process_group()
    commands, typed = os.pipe()
    os.write(typed, b"up\np 'value', rank + 40\ncontinue\n")
    os.dup2(commands, 0)
    passed = []
    for i in range(3):
        dist.breakpoint(1, skip=2, timeout_s=120)
        passed.append(i)
    seconds = dist.group.WORLD._timeout.total_seconds()
    dist.destroy_process_group()
    return [passed, seconds]


def test_the_debugger_stops_one_rank():
    first, second = ranks.run(stopped, 2)
    for one in first, second:
        assert one.code == 0 and one.value == [[0, 1, 2], 120.0], one.output
    assert second.output.count("Rank 1 has stopped") == 1 and "('value', 41)" in second.output
    assert "has stopped" not in first.output


def spaced(size):
    import flambeau as torch
    from flambeau.distributed.tensor import DeviceMesh, Shard, linspace, logspace

    mesh = DeviceMesh("cpu", list(range(size)))
    line = linspace(-1, 1, 5, device_mesh=mesh, placements=[Shard(0)], requires_grad=True)
    powers = logspace(0, 4, 5, base=2, dtype=torch.float64, device_mesh=mesh)
    return [
        line.to_local().tolist(),
        torch.equal(line.full_tensor(), torch.linspace(-1, 1, 5)) and line.requires_grad,
        [powers.to_local().tolist(), str(powers.dtype)],
        [Shard.local_shard_size_and_offset(5, 3, r) for r in range(3)],
        [Shard.local_shard_size_and_offset(2, 3, r) for r in range(3)],
    ]


def test_vectors_over_a_mesh(both):
    for rank, one in enumerate(one["spaced"] for one in both):
        assert one[0] == [[-1.0, -0.5, 0.0], [0.5, 1.0]][rank] and one[1]
        assert one[2] == [[1.0, 2.0, 4.0, 8.0, 16.0], "torch.float64"]
        assert one[3:] == [[[2, 0], [2, 2], [1, 4]], [[1, 0], [1, 1], [0, 2]]]


def compressed(rank, size, *cases):
    """What `_compressed` finds for each (rank of the matrices, steps)."""
    import flambeau.distributed as dist

    dist.init_process_group()
    found = [_compressed(rank, size, *case) for case in cases]
    dist.destroy_process_group()
    return found


def _compressed(rank, size, matrix_rank, steps):
    """The sum of the gradients that every rank has after so many steps, the error of their mean,
    and the rate of compression."""
    import flambeau as torch
    from flambeau.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as power

    torch.manual_seed(0)
    layer = torch.nn.Linear(5, 6)
    ddp = torch.nn.parallel.DistributedDataParallel(layer)
    state = power.PowerSGDState(None, matrix_rank, start_powerSGD_iter=2)
    ddp.register_comm_hook(state, power.batched_powerSGD_hook)
    inputs = [torch.randn(4, 5) for _ in range(size)]
    total = torch.zeros(6, 5)
    torch.set_default_device("meta")  # a hook's own tensors follow the gradients' instead
    for _ in range(steps):
        layer.zero_grad()
        ddp(inputs[rank]).square().sum().backward()
        total += layer.weight.grad
    torch.set_default_device("cpu")
    alone = []
    for x in inputs:
        layer.zero_grad(set_to_none=True)
        layer(x).square().sum().backward()
        alone.append(layer.weight.grad)
    mean = (alone[0] + alone[1]) / size
    return {
        "error": ((total / steps - mean).norm() / mean.norm()).item(),
        "sum": total.tolist(),
        "rate": state.compression_stats()[0],
    }


def test_a_bucket_as_one_matrix():
    (first, few, many), (second, *_) = ranks.values(compressed, 2, (6, 3), (1, 3), (1, 40))
    assert first["sum"] == second["sum"] and first["error"] < 1e-5  # of full rank nothing is lost
    assert first["rate"] == 36 / (2 * 6 * 6)
    assert few["rate"] == 36 / (2 * 6) and few["error"] > 1e-3
    assert many["error"] < few["error"]  # what is lost comes later
