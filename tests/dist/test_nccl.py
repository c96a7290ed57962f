"""Groups over NCCL, where a stand-in for it, and one for CUDA, hold the provider to their
contracts: two processes with a GPU each, whose streams are threads. Collectives,
DistributedDataParallel, work that nobody waits for, and each way in which the ranks can come
apart."""

import concurrent.futures
import datetime
import importlib
import os
import shutil
import signal
import threading
import time
from pathlib import Path

import pytest

from tests.dist import ranks
from tests.dist.test_collectives import DTYPES, close, layouts, moves, reduced

TIME = 90.0  # far more than a test takes
BUILT = Path(os.environ.get("FLAMBEAU_LIBRARY", ranks.ROOT / "build" / "libflambeau.so.0"))
OVER = {
    "FLAMBEAU_LIBRARY": str(BUILT.resolve().parent / "standin" / "libflambeau.so.0"),
    "FLAMBEAU_SIM": "devices=2,memory=256MiB,schedule=threads",
    "LD_LIBRARY_PATH": str(BUILT.resolve().parent),  # Gloo's adaptor
}
THREE = OVER | {"FLAMBEAU_SIM": OVER["FLAMBEAU_SIM"].replace("devices=2", "devices=3")}
DEADLINE = 2.0
WAITING = ranks.Waiting()


def begin(rank, size, backend="nccl", **more):
    """The package, its groups, and what makes rank r's tensor: small numbers, which are exact."""
    import flambeau as torch

    dist = torch.distributed
    torch.cuda.set_device(rank)
    dist.init_process_group(backend, **more)

    def of(r, kind="float32", n=6):
        numbers = [(3 * r + i) % 5 for i in range(n)]
        return torch.tensor(numbers, dtype=getattr(torch, kind), device="cuda")

    return torch, dist, of


def reductions(rank, size, device, dist, torch, of):
    for kind in [k for k in DTYPES if k != "int16"]:
        rows = [of(r, kind).tolist() for r in range(size)]
        ops = ["SUM", "PRODUCT", "MIN", "MAX"] + ["AVG"] * ("float" in kind)
        for op in ops + ["BAND", "BOR"] * (kind == "bool"):
            wanted, by = reduced(op, rows, kind), getattr(dist.ReduceOp, op)
            wanted = [bool(v) for v in wanted] if kind == "bool" else wanted
            x, y, part = of(rank, kind), of(rank, kind), of(rank, kind, 2)
            dist.all_reduce(x, op=by)
            assert close(x.tolist(), wanted, kind), (kind, op, x)
            dist.reduce(y, 1, by, async_op=True).wait()
            assert torch.equal(y, x if rank == 1 else of(rank, kind)), (kind, op, y)
            dist.reduce_scatter(part, [of(rank, kind, 2) for _ in range(size)], op=by)
            assert close(part.tolist(), wanted[:2], kind), (kind, op, part)
    for kind in "float32", "float64", "float16", "bfloat16":
        x = of(rank, kind)
        dist.all_reduce(x, dist._make_nccl_premul_sum(0.5))
        assert x.tolist() == [0.5 * sum(v) for v in zip(*[of(r).tolist() for r in range(size)])]
    for kind, op, text in (
        ("int16", "SUM", "NCCL does not reduce int16"),
        ("int32", "BAND", "Cannot use ReduceOp.BAND with NCCL"),
    ):
        with pytest.raises((NotImplementedError, RuntimeError), match=text):
            dist.all_reduce(of(rank, kind), getattr(dist.ReduceOp, op))


def later(rank, size, device, dist, torch, of):
    """Work that has not ended when its wait returns, and transfers between two."""
    several = [torch.full((1000,), float(i + rank), device=device) for i in range(20)]
    works = [dist.all_reduce(t, async_op=True) for t in several]
    base = size * (size - 1) / 2
    for i, work in enumerate(works):
        assert work.wait(datetime.timedelta(seconds=20)) and work.is_completed()
        assert work.is_success() and several[i].tolist() == [i * size + base] * 1000
    other, got, more = 1 - rank, of(5), of(5)
    ops = [dist.P2POp(dist.isend, of(rank), other), dist.P2POp(dist.irecv, got, other)]
    ops += [dist.P2POp(dist.irecv, more, other), dist.P2POp(dist.isend, of(rank + 3), other)]
    works = dist.batch_isend_irecv(ops if rank else [ops[1], ops[0], ops[3], ops[2]])
    for work in works:
        work.wait()
    assert torch.equal(got, of(other)) and torch.equal(more, of(other + 3))
    if rank == 0:
        dist.send(of(7).reshape(2, 3).t(), 1)
    else:
        assert dist.recv(got := torch.empty(3, 2, device=device), 0) == 0
        assert torch.equal(got, of(7).reshape(2, 3).t())
    with pytest.raises((NotImplementedError, RuntimeError), match="name the rank that sends"):
        dist.recv(got)


def blocks(rank, size):
    """Transfers that wait for their block's end: their time does not count, a block of another
    thread comes after it, and those of a group that is left fail."""
    torch, dist, of = begin(rank, size)
    collected = importlib.import_module("flambeau.distributed._pairs").collected
    other, got, more = 1 - rank, torch.empty(6, device="cuda"), torch.empty(6, device="cuda")
    dist.set_timeout(datetime.timedelta(seconds=DEADLINE))
    group, begun = dist.group.WORLD, threading.Event()

    def exchange(into, base, pause):
        torch.cuda.set_device(rank)
        with collected(group):
            works = [dist.isend(of(rank + base), other), dist.irecv(into, other)]
            begun.set()
            time.sleep(pause)
        for work in works:
            work.wait()
        torch.cuda.synchronize()

    first = threading.Thread(target=exchange, args=(got, 0, DEADLINE + 1))
    first.start()
    begun.wait()
    exchange(more, 3, 0)
    first.join()
    assert torch.equal(got, of(other)) and torch.equal(more, of(other + 3))
    with collected(group):
        work = dist.isend(got, other)
        dist.destroy_process_group()
        assert work.is_completed()
        with pytest.raises(ValueError, match="left before the end of the block"):
            work.wait()


@WAITING.add("blocks", blocks, 2, timeout=TIME, **OVER)
def test_transfers_that_wait_for_the_end_of_a_block():
    WAITING.values("blocks")


def groups(rank, size, device, dist, torch, of):
    """Parts of the job, the whole of it once more, and objects."""
    alike, alone = dist.new_group(), dist.new_group([rank], use_local_synchronization=True)
    for group in alike, alone:
        x = torch.ones(3, device=device)
        dist.all_reduce(x, group=group)
        assert x.tolist() == [dist.get_world_size(group)] * 3
    objects = [None] * size
    dist.all_gather_object(objects, {"rank": rank})
    assert objects == [{"rank": r} for r in range(size)]
    with pytest.raises(RuntimeError, match="No backend type associated with device type cpu"):
        dist.all_reduce(torch.ones(1))


def several(rank, size):
    """Each rank's first GPU is another one, and the group is made once more."""
    torch, dist, _ = begin(rank, size)
    there = [f"cuda:{rank}", f"cuda:{1 - rank}"]
    for device in there:
        dist.all_reduce(torch.ones(2, device=device))
    group = dist.new_group(timeout=datetime.timedelta(seconds=20))
    for device in there:
        dist.all_reduce(x := torch.ones(2, device=device), group=group)
        assert x.tolist() == [2, 2]
    dist.destroy_process_group()


def test_groups_of_several_gpus_a_rank():
    ranks.values(several, 2, timeout=TIME, **OVER)


def halved(rank, size):
    """The group is made once more, and NCCL is not done with it when the time is over."""
    torch, dist, _ = begin(rank, size)
    dist.all_reduce(torch.ones(2, device="cuda"))
    with pytest.raises(dist.DistError, match="the deadline is over"):
        dist.new_group(timeout=datetime.timedelta(seconds=DEADLINE))
    time.sleep(4)
    with pytest.raises(dist.DistError):
        dist.all_reduce(torch.ones(2, device="cuda"))
    dist.destroy_process_group()


@WAITING.add("halved", halved, 2, timeout=TIME, **OVER, FLAMBEAU_STANDIN_NCCL="splits late")
def test_a_group_that_is_made_too_late():
    WAITING.values("halved")


def everything(rank, size):
    torch, dist, of = begin(rank, size)
    for check in reductions, moves, layouts, later, groups:
        check(rank, size, "cuda", dist, torch, of)
    dist.destroy_process_group()


def test_collectives():
    ranks.values(everything, 2, timeout=TIME, **OVER)


def both(rank, size):
    """One group for tensors of the cpu and of GPUs; ended while its last call is under way."""
    torch, dist, of = begin(rank, size, backend=None)
    here, there = torch.ones(4), torch.ones(4, device="cuda")
    works = [dist.all_reduce(t, async_op=True) for t in (here, there, here)]
    for work in works:
        work.wait()
    assert here.tolist() == [4] * 4 and there.tolist() == [2] * 4
    dist.barrier()
    time.sleep(0.5 * rank)
    dist.all_reduce(there)
    dist.destroy_process_group()
    assert there.tolist() == [4] * 4


def test_tensors_of_cpus_and_gpus():
    ranks.values(both, 2, timeout=TIME, **OVER)


def train(rank, size):
    """Losses and parameters of DistributedDataParallel, and of one model with all the data."""
    torch, dist, _ = begin(rank, size)
    nn, functional = torch.nn, torch.nn.functional

    def model():
        torch.manual_seed(1)
        return nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3)).cuda()

    def step(module, optimizer, x, y):
        optimizer.zero_grad()
        loss = functional.mse_loss(module(x), y)
        loss.backward()
        optimizer.step()
        return loss.item()

    plain, shared = model(), model()
    parallel = nn.parallel.DistributedDataParallel(shared, device_ids=[rank], bucket_cap_mb=0.001)
    optimizers = [torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9) for m in (plain, shared)]
    torch.manual_seed(2)
    for _ in range(4):
        x, y = torch.randn(8, 6, device="cuda"), torch.randn(8, 3, device="cuda")
        step(plain, optimizers[0], x, y)
        mine = slice(4 * rank, 4 * rank + 4)
        step(parallel, optimizers[1], x[mine], y[mine])
    for a, b in zip(plain.parameters(), shared.parameters()):
        assert torch.allclose(a, b, rtol=1e-5, atol=1e-6), (a - b).abs().max()
    sums = [p.double().sum().item().hex() for p in shared.parameters()]
    dist.destroy_process_group()
    return sums


def test_data_parallel_training():
    first = ranks.values(train, 2, timeout=TIME, **OVER)
    assert first[0] == first[1] == ranks.values(train, 2, timeout=TIME, **OVER)[0]


def ordered(rank, size):
    """The other rank calls when the program has gone on, for which the stream waits: by the work,
    by its future, and where the program has waited for a while."""
    torch, dist, _ = begin(rank, size)
    store = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
    x, stream, busy = torch.ones(4, device="cuda"), torch.cuda.current_stream(), []
    dist.all_reduce(x)
    for how in "work", "future", "a while":
        torch.cuda.synchronize()
        if rank:
            store.wait([how])
        work = dist.all_reduce(x, async_op=True)
        if rank or how == "work":
            assert work.wait()
        elif how == "future":
            future = work.get_future()
            time.sleep(0.3)  # another thread waits
            future.wait()
        else:
            with pytest.raises(TimeoutError) as late:
                work.wait(datetime.timedelta(seconds=0.5))
            text = "all_reduce(float32[4], sum) has not ended after 0.5 s; it goes on"
            assert text in str(late.value), late.value
        y = x + 1
        busy.append(not stream.query())
        if not rank:
            store.set(how, "")
        if how != "a while":
            assert y.tolist() == [x[0].item() + 1] * 4
    work.wait()
    assert x.tolist() == [16] * 4
    dist.destroy_process_group()
    return busy


def test_the_stream_waits_and_not_the_program():
    busy, _ = ranks.values(ordered, 2, timeout=TIME, **OVER)
    assert busy[:2] == [True, True]


def captured(rank, size):
    """A graph of another device is captured while a call is looked at."""
    torch, dist, _ = begin(rank, size)
    x, y = torch.ones(4, device="cuda"), torch.ones(4, device=f"cuda:{1 - rank}")
    dist.all_reduce(x)
    time.sleep(0.5 * rank)
    work, graph = dist.all_reduce(x, async_op=True), torch.cuda.CUDAGraph()
    with torch.cuda.device(1 - rank):
        with torch.cuda.graph(graph):
            z = y + 1
            time.sleep(1)
        assert work.is_success()
        graph.replay()
    work.wait()
    assert x.tolist() == [4] * 4 and z.tolist() == [2] * 4
    dist.destroy_process_group()


def test_captures_and_calls_do_not_disturb_each_other():
    ranks.values(captured, 2, timeout=TIME, **OVER)


def fail(rank, size, fault):
    """The last rank has the fault; the other says what it got, and when."""
    torch, dist, _ = begin(rank, size)
    x, last = torch.ones(64, 32, device="cuda"), rank == size - 1
    dist.all_reduce(x)
    torch.cuda.synchronize()
    dist.set_timeout(datetime.timedelta(seconds=DEADLINE))
    if last and fault == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if last and fault == "late":
        time.sleep(DEADLINE + 2)
        return None
    if last and fault == "leaves":
        dist.destroy_process_group()
        return None
    began, said, work, enqueued = time.monotonic(), [], None, None
    call = dist.broadcast if last and fault == "other" else dist.all_reduce
    try:
        work = call(x, *([0] if call is dist.broadcast else []), async_op=True)
        work.wait()  # lets the stream wait
        enqueued = time.monotonic() - began
        x.sum().item()  # lets the program wait
    except dist.DistError as error:
        said = [type(error).__name__, str(error)]
    seconds = time.monotonic() - began
    with pytest.raises(dist.DistError):
        dist.all_reduce(x)
    if work is not None:
        with pytest.raises(dist.DistError):
            work.wait()
    torch.cuda.synchronize()  # it has been said
    dist.destroy_process_group()
    assert torch.ones(2, device="cuda").sum().item() == 2
    return [*said, enqueued, seconds]


FAULTS = {
    "killed": ("PeerLostError", "rank 1 of group"),
    "leaves": ("PeerLostError", "has left the job"),
    "late": ("CollectiveTimeoutError", "all_reduce(float32[64, 32], sum) #2"),
    "other": ("CollectiveTimeoutError", "called different collectives"),
}


@pytest.fixture(scope="module")
def outcomes():
    """All at once: they mostly wait."""
    with concurrent.futures.ThreadPoolExecutor(len(FAULTS)) as pool:
        lenient = {"FLAMBEAU_STANDIN_NCCL": "lenient"}
        started = {
            fault: pool.submit(ranks.run, fail, 2, fault, timeout=TIME, **OVER, **more)
            for fault in FAULTS
            for more in [lenient if fault == "other" else {}]
        }
        return {fault: found.result() for fault, found in started.items()}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults(outcomes, fault):
    found = outcomes[fault]
    kind, text = FAULTS[fault]
    assert found[0].code == 0, found[0].output
    name, said, enqueued, seconds = found[0].value
    assert name == kind and text in said, found[0].value
    assert seconds < DEADLINE + 3.5, found[0].value
    if fault in ("late", "other"):
        assert enqueued is not None and enqueued < 1, found[0].value


def heard(rank, size):
    """A call of the group says what ended it: a wait for the device does not say it once more."""
    torch, dist, _ = begin(rank, size)
    store = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
    x = torch.ones(4, device="cuda")
    dist.all_reduce(x)
    torch.cuda.synchronize()
    dist.barrier()
    if rank == size - 1:
        store.wait(["called"])
        os.kill(os.getpid(), signal.SIGKILL)
    work = dist.all_reduce(x, async_op=True)  # is under way when the other rank is lost
    store.set("called", "")
    end = time.monotonic() + 30
    while not work.is_completed() and time.monotonic() < end:
        time.sleep(0.05)
    with pytest.raises(dist.DistError, match="rank 1 of group"):
        dist.all_reduce(x)
    torch.cuda.synchronize()
    with pytest.raises(dist.DistError, match="rank 1 of group"):
        work.wait()
    dist.destroy_process_group()


def test_what_ended_a_group_is_said_once():
    found = ranks.run(heard, 2, timeout=TIME, **OVER)
    assert found[0].code == 0, found[0].output


def outlasts(rank, size):
    """The root of a broadcast has done its part and leaves, when rank 0's call waits for other work
    of its device for longer than a call waits for a rank that has left."""
    torch, dist, of = begin(rank, size)
    store = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
    with_root, with_other = dist.new_group([0, 1]), dist.new_group([0, 2])
    x, one = torch.zeros(4, device="cuda"), torch.zeros(1, device="cuda")
    if rank < 2:
        dist.broadcast(x, 1, group=with_root)
    if rank != 1:
        (dist.recv if rank == 0 else dist.send)(one, 2 - rank, group=with_other)
    torch.cuda.synchronize()
    if rank == 0:
        dist.irecv(one, 2, group=with_other).wait()  # the stream waits
        dist.broadcast(x, 1, group=with_root)
        store.set("called", "")
    elif rank == 1:
        dist.broadcast(x.fill_(7), 1, group=with_root)
        store.wait(["called"])
        time.sleep(3.5)
        dist.destroy_process_group()
        store.set("left", "")
        return
    else:
        store.wait(["left"])
        time.sleep(1)
        dist.send(one, 0, group=with_other)
    torch.cuda.synchronize()
    assert rank == 2 or x.tolist() == [7] * 4
    dist.destroy_process_group()


@WAITING.add("outlasts", outlasts, 3, timeout=TIME, **THREE)
def test_a_call_behind_other_work_finds_what_a_rank_sent_before_it_left():
    WAITING.values("outlasts")


def stays(rank, size):
    """Two that have sent each other nothing yet do so when the third is done."""
    torch, dist, of = begin(rank, size)
    if rank < 2:
        time.sleep(1.5)
        x = of(0) if rank == 0 else torch.zeros(6, device="cuda")
        (dist.send if rank == 0 else dist.recv)(x, 1 - rank)
        torch.cuda.synchronize()
        assert torch.equal(x, of(0))
    dist.destroy_process_group()


@WAITING.add("stays", stays, 3, timeout=TIME, **THREE)
def test_a_pair_meets_after_another_rank_has_left():
    WAITING.values("stays")


def piped(rank, size):
    """Several stages on each rank, whose transfers share a stream: each waits for those before."""
    torch, dist, _ = begin(rank, size)
    from flambeau.distributed import pipelining

    loss_of, count, found = torch.nn.functional.mse_loss, 2 * size, []
    for kind in pipelining.ScheduleInterleaved1F1B, pipelining.ScheduleLoopedBFS:
        torch.manual_seed(0)
        layers = [torch.nn.Linear(4, 4).cuda() for _ in range(count)]
        x, y = torch.randn(8, 4).cuda(), torch.randn(8, 4).cuda()
        loss_of(torch.nn.Sequential(*layers)(x), y).backward()
        wanted = [layer.weight.grad.clone() for layer in layers]
        mine = range(rank, count, size)
        for i in mine:
            layers[i].zero_grad()
        stages = [pipelining.PipelineStage(layers[i], i, count, "cuda") for i in mine]
        schedule = kind(stages, 4, loss_fn=loss_of)
        schedule.step(*([] if rank else [x]), **({"target": y} if rank else {}))
        found += [torch.allclose(layers[i].weight.grad, wanted[i], atol=1e-5) for i in mine]
    dist.destroy_process_group()
    return found


def test_several_stages_on_each_rank():
    assert ranks.values(piped, 2, timeout=TIME, **OVER) == [[True] * 4] * 2


def refused(rank, size):
    torch, dist, _ = begin(rank, size)
    try:
        dist.all_reduce(torch.ones(2, device="cuda"))
    except RuntimeError as error:
        return str(error)


def test_what_nccl_says_is_shown():
    found = ranks.values(refused, 2, timeout=TIME, **OVER, FLAMBEAU_STANDIN_NCCL="refuses")
    assert all("invalid usage: Duplicate GPU detected" in text for text in found), found
    assert all("give each rank a GPU of its own" in text for text in found), found


def unusable(rank, size):
    """What is said where there are GPUs and no NCCL for them."""
    import flambeau as torch

    dist = torch.distributed
    assert torch.cuda.device_count() == 2 and not dist.is_nccl_available()
    with pytest.raises(RuntimeError) as found:
        dist.init_process_group("nccl")
    dist.init_process_group()
    x = torch.ones(1)
    dist.all_reduce(x)
    assert x.item() == 2
    with pytest.raises(RuntimeError) as refused:
        dist.all_reduce(x.cuda())
    dist.destroy_process_group()
    return [str(found.value), str(refused.value)]


def test_a_library_that_is_too_old_is_named():
    found = ranks.values(unusable, 2, timeout=TIME, **OVER, FLAMBEAU_STANDIN_NCCL="old")
    for said, later in found:
        assert "the number 21703, needed is 21800" in said, found
        assert "pip install nvidia-nccl-cu13" in said and "pip install nvidia-nccl-cu13" in later


def test_a_library_that_is_missing_is_named(tmp_path):
    folder = Path(OVER["FLAMBEAU_LIBRARY"]).parent
    for name in "libflambeau.so.0", "libcuda.so.1":
        shutil.copy(folder / name, tmp_path)
    elsewhere = OVER | {"FLAMBEAU_LIBRARY": str(tmp_path / "libflambeau.so.0")}
    for said, later in ranks.values(unusable, 2, timeout=TIME, **elsewhere):
        assert "NCCL was not found" in said and f"{tmp_path}/libnccl.so.2" in said, said
        assert "No backend type associated with device type cuda: NCCL was not found" in later
