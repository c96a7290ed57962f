"""What survivors of a job see: a rank that is killed, stops, calls something else, or leaves early.
Each gets the right error soon after the deadline, says where the others are, and ends by
itself."""

import concurrent.futures
import os
import signal
import threading
import time

import pytest

from tests.dist import ranks

DEADLINE = 2.0
WAITING = ranks.Waiting()


def fail(rank, size, fault):
    """The last rank has the fault; the others say what they got, and when."""
    import datetime

    import flambeau as torch

    dist = torch.distributed
    dist.init_process_group("gloo")
    x, last = torch.ones(64, 32), rank == size - 1
    dist.all_reduce(x)
    dist.set_timeout(datetime.timedelta(seconds=DEADLINE))
    work = dist.all_reduce(x, async_op=True) if fault == "async" and not last else None
    if last:
        if fault == "stopped":
            time.sleep(0.8)  # it has said once where it is
        if fault in ("killed", "async", "receives"):
            os.kill(os.getpid(), signal.SIGKILL)
        if fault == "stopped":
            os.kill(os.getpid(), signal.SIGSTOP)
        if fault == "leaves":
            return None
        if fault == "destroys":
            dist.destroy_process_group()
            return None
    began = time.monotonic()
    try:
        if work is not None:
            work.wait()
        elif fault == "receives":
            dist.recv(x, 2)
        elif fault == "splits":
            came = [3, 3, 1] if last else [1, 1, 1]  # rows from each rank, which sends one
            dist.all_to_all_single(torch.empty(sum(came)), torch.ones(size), came, [1] * size)
        elif fault == "calls other" and last:
            dist.broadcast(x, 0)
        elif fault == "objects":
            objects = [None] * (size - last)  # a list that is too short on the last rank
            dist.all_gather_object(objects, rank)
        elif fault in ("monitored", "begun") and last:
            time.sleep(3.2)
            dist.barrier()
        elif fault == "begun":
            dist.barrier(async_op=True, timeout=datetime.timedelta(seconds=1)).wait()
        elif fault == "monitored":
            dist.monitored_barrier(timeout=datetime.timedelta(seconds=1))
        else:
            dist.all_reduce(x)
    except (dist.DistBackendError, IndexError) as error:
        seconds = time.monotonic() - began
        found = [type(error).__name__, str(error), seconds]
        if last:
            return found
        with pytest.raises(dist.DistBackendError):  # the group is over, and says so at once
            dist.barrier()
        assert fault != "async" or isinstance(work.exception(), dist.DistBackendError)
        assert time.monotonic() - began < seconds + 0.2
        return found
    return None


REDUCES = "all_reduce(float32[64, 32], sum)"
LAST = [f"and {REDUCES} #2 waits for it", f": waits in {REDUCES} #2 for ",
        f"rank 2, when last heard: its last was {REDUCES} #1, ended ", " in fail"]  # fmt: skip
WANTED = {
    "killed": ("PeerLostError", ["rank 2 ", "is gone", "process "]),
    "async": ("PeerLostError", ["rank 2 ", "is gone"]),
    "stopped": ("CollectiveTimeoutError", [REDUCES, "rank 2: is silent"]),
    "calls other": (
        "CollectiveTimeoutError",
        ["different collectives", REDUCES, "broadcast(float32[64, 32], root 0)",
         "test_faults.py:", " in fail"],
    ),
    "receives": ("PeerLostError", ["rank 2 ", "is gone"]),
    "leaves": ("PeerLostError", ["rank 2 ", "has left the job", *LAST]),
    "destroys": ("PeerLostError", ["rank 2 ", "has left the job", *LAST]),
    "splits": ("CollectiveTimeoutError", ["all_to_all(float32[3])", "rank 2: waits in all_to"]),
    "objects": ("PeerLostError", ["rank 2 ", "has left the job"]),
    "monitored": ("CollectiveTimeoutError", ["barrier()", "rank 2: works"]),
    "begun": ("CollectiveTimeoutError", ["barrier()", "within 1.0 s", "rank 2: works"]),
}  # fmt: skip
ENDS = {"killed": -signal.SIGKILL, "async": -signal.SIGKILL, "receives": -signal.SIGKILL,
        "stopped": None}  # fmt: skip


@pytest.fixture(scope="module")
def outcomes():
    """All faults, several at a time: they mostly wait."""
    with concurrent.futures.ThreadPoolExecutor(5) as pool:
        started = {
            fault: pool.submit(ranks.run, fail, 3, fault, without=stopped)
            for fault in WANTED
            for stopped in [(2,) if fault == "stopped" else ()]
        }
        return {fault: found.result() for fault, found in started.items()}


@pytest.mark.parametrize("fault", WANTED)
def test_survivors_say_what_happened(outcomes, fault):
    kind, texts = WANTED[fault]
    *survivors, last = outcomes[fault]
    assert last.code == ENDS.get(fault, 0), last.output
    for one in survivors:
        assert one.code == 0 and one.output == "", one.output
        name, text, seconds = one.value
        assert name == kind, text
        for wanted in texts:
            assert wanted in text, text
        assert seconds < DEADLINE + 6, text  # tests/bench/faults.py holds it to two


def ends_without_a_word(rank, size, how):
    import flambeau as torch

    dist = torch.distributed
    dist.init_process_group("gloo")
    works = [dist.all_reduce(torch.ones(1000), async_op=True) for _ in range(3)]
    futures = [work.get_future().then(lambda f: f.value()) for work in works]
    if how == "raises" and rank == 1:
        raise ValueError("of the program")
    for future in futures:
        future.wait()


def test_programs_end_without_destroying_their_group():
    first, second = ranks.run(ends_without_a_word, 2, "returns")
    assert (first.code, first.output, second.code, second.output) == (0, "", 0, "")
    first, second = ranks.run(ends_without_a_word, 2, "raises")
    assert second.code == 1 and "ValueError: of the program" in second.output
    assert first.code is not None and first.seconds < 15


def stays(rank, size):
    """Two go on with each other when the third is done."""
    import flambeau as torch

    dist = torch.distributed
    dist.init_process_group("gloo")
    if rank == 2:
        return
    pair = dist.new_group([0, 1], use_local_synchronization=True)
    time.sleep(1.5)
    x = torch.ones(1)
    if rank == 0:
        dist.send(x.fill_(7), 1)
    else:
        assert dist.recv(x, 0) == 0 and x.item() == 7
    dist.all_reduce(x, group=pair)
    assert x.item() == 14
    with pytest.raises(dist.DistBackendError, match="rank 2 .*has left the job"):
        dist.barrier()


@WAITING.add("stays", stays, 3)
def test_a_rank_that_is_done_ends_only_its_own_groups():
    WAITING.values("stays")


def goes_on(rank, size, source):
    """The second rank is slow to answer the first when the third is done."""
    import flambeau as torch

    dist = torch.distributed
    dist.init_process_group("gloo")
    if rank == 2:
        return None
    x = torch.full((2,), float(rank))
    if rank == 1:
        time.sleep(4.2)
        dist.send(x, 0)
        return None
    other = threading.Thread(target=lambda: dist.recv(torch.ones(3), 1, tag=7))
    found = [dist.recv(x, source), x.tolist()]
    other.start()  # from now on nothing comes: its rank leaves
    other.join(20)
    return [*found, other.is_alive()]


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(source, marks=WAITING.add(("goes on", source), goes_on, 3, source))
        for source in (1, None)
    ],
)
def test_a_transfer_between_the_living_goes_on_when_a_third_has_left(source):
    first = WAITING.run(("goes on", source))[0]
    assert first.value == [1, [1.0, 1.0], False], first.output
    assert "rank 1 of group" in first.output and "waits for it" in first.output, first.output


def two_at_a_time(rank, size):
    """Of two threads that receive, one waits for a rank that has left."""
    import flambeau as torch

    dist = torch.distributed
    dist.init_process_group("gloo")
    store = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
    if rank == 1:
        store.wait(["told"])
    if rank:
        return None
    texts = {}

    def receive(source):
        try:
            dist.recv(torch.ones(2), source)
        except dist.DistError as error:
            texts[source] = str(error)

    threads = [threading.Thread(target=receive, args=(source,)) for source in (1, 2)]
    for thread in threads:
        thread.start()
        time.sleep(0.2)
    threads[1].join(30)
    alone = sorted(texts)
    store.set("told", "")
    threads[0].join(30)
    return alone, texts[2]


def test_whoever_waits_for_a_rank_that_has_left_is_told_beside_one_that_does_not():
    alone, text = ranks.run(two_at_a_time, 3)[0].value
    assert alone == [2]  # rank 1 is still there
    assert "rank 2 of group" in text and "waits for it" in text, text


def never_meets(rank, size):
    import datetime

    import flambeau as torch

    if rank == 1:
        return None
    began = time.monotonic()
    limit = datetime.timedelta(seconds=1)
    with pytest.raises(torch.distributed.DistError) as caught:
        torch.distributed.init_process_group("gloo", timeout=limit)
    assert time.monotonic() - began < 3 and not torch.distributed.is_initialized()
    return str(caught.value)


def test_a_rank_that_never_comes_is_waited_for_until_the_deadline():
    text, _ = ranks.values(never_meets, 2)
    assert "was not made: timed out at rank 1" in text and "WORLD_SIZE" in text


def alone_in_a_new_group(rank, size, how):
    """The first rank makes a group with the second, which leaves, dies, or takes its time."""
    import datetime

    import flambeau.distributed as dist

    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=20))
    if how == "late":  # the job's own start may take longer
        dist.set_timeout(datetime.timedelta(seconds=1.5))
    if rank == 1:
        time.sleep({"late": 4, "dies": 1, "leaves": 0.2}[how])
        if how == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        return None
    began = time.monotonic()
    with pytest.raises(dist.DistError) as caught:
        dist.new_group([0, 1])
    return [type(caught.value).__name__, str(caught.value), time.monotonic() - began]


ALONE = [
    ("leaves", "PeerLostError", ["rank 1 has left the job (process "]),
    # the latter where the job knew of it before the group was asked for
    ("dies", "PeerLostError", ["rank 1 is gone (process ", "rank 1 of group \"world\""]),
    ("late", "CollectiveTimeoutError", ["timeout 1.5 s"]),
]


@pytest.mark.parametrize(
    ("how", "kind", "said"),
    [
        pytest.param(*row, marks=WAITING.add(("alone", row[0]), alone_in_a_new_group, 2, row[0]))
        for row in ALONE
    ],
)
def test_a_group_is_waited_for_no_longer_than_its_ranks_live(how, kind, said):
    name, text, seconds = WAITING.run(("alone", how))[0].value
    assert name == kind and any(words in text for words in said), text
    if said[0] in text:
        assert how == "late" or text.count("rank 1 ") == 1, text
        assert "of 2 ranks was not made" in text, text
        assert ("start all ranks again" in text) == (kind == "PeerLostError"), text
    assert seconds < 8, text


def patient(rank, size):
    """A group that was made in the job's short time waits as long as its backend's default."""
    import datetime

    import flambeau as torch

    dist = torch.distributed
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=20))
    dist.set_timeout(datetime.timedelta(seconds=3))
    group = dist.new_group()
    time.sleep(4.5 * rank)
    dist.all_reduce(x := torch.ones(1), group=group)
    assert x.item() == 2 and group._timeout == dist.default_pg_timeout


@WAITING.add("patient", patient, 2)
def test_calls_of_a_new_group_wait_as_long_as_torchs():
    WAITING.values("patient")


def in_ddp(rank, size, step):
    """The first rank leaves before a step of data parallel training; the other waits there."""
    import flambeau as torch

    dist, nn = torch.distributed, torch.nn

    def build():
        return nn.parallel.DistributedDataParallel(
            nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
        )

    def forward(net):
        return net(torch.ones(4, 2)).sum()

    def backward(loss):
        loss.backward()

    dist.init_process_group("gloo")
    made = []  # a module that is gone reduces nothing
    for now in (build, forward, backward):
        if rank == 0 and now.__name__ == step:
            return dist.destroy_process_group()
        try:
            made.append(now(*made[-1:]))
        except dist.DistError as error:
            return str(error)
    return None


@pytest.mark.parametrize(
    ("step", "last"), [("build", None), ("forward", "build"), ("backward", "forward")]
)
def test_data_parallel_passes_say_where_they_are(step, last):
    text = ranks.values(in_ddp, 2, step)[1]
    own, left = (
        line for line in text.split("\n") if line.lstrip().startswith(("rank 1", "rank 0,"))
    )
    assert "rank 1: waits in " in own and "test_faults.py:" in own and f" in {step}" in own, text
    said = f" in {last}" if last else "has called nothing yet"
    assert left.lstrip().startswith("rank 0, when last heard: ") and left.endswith(said), text
