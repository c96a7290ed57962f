"""Groups over MPI: PyPI's mpich, whose library has the standard ABI, starts the ranks and moves
their bytes. One start runs every collective; others end in each of the ways in which a rank can be
lost."""

import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest

from tests.dist.launching import environment

ROOT = Path(__file__).resolve().parents[2]
MPIEXEC = Path(sys.executable).with_name("mpiexec")

HEAD = """
import atexit, os, sys, time
sys.path.insert(0, os.path.join({root!r}, "tests", "harness"))
import flambeau as torch
import gen.api as api
from flambeau import tensor
api.library_directory_add(os.path.join(sys.prefix, "lib"))

def note_segments():
    mapped = [line.split()[-1] for line in open("/proc/self/maps") if "/dev/shm/mpich_shm" in line]
    with open(os.environ["SEGMENTS"], "a") as file:
        file.writelines(name + "\\n" for name in mapped)

atexit.register(note_segments)  # of a rank whose start fails
group = api.group_init("env://", backend="mpi", timeout={timeout})
note_segments()  # of a rank that is killed
rank, size = api.group_rank(group), api.group_size(group)

def failure(call):
    begin = time.monotonic()
    try:
        call()
    except torch.distributed.DistError as e:
        return type(e).__name__, str(e), time.monotonic() - begin
    raise SystemExit("the call did not fail")
"""

COLLECTIVES = """
for dtype in torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.uint8, torch.bool:
    x = torch.full((5,), rank + 1).to(dtype)
    api.group_all_reduce(group, [x])
    assert x.double().tolist() == [1.0 if dtype == torch.bool else 6.0] * 5, (dtype, x)
x = tensor([float(rank)])
work = api.group_all_reduce(group, [x], op="max", async_op=True)
api.work_wait(work)
assert x.item() == 2
flat = torch.zeros(3)
api.group_all_gather(group, [flat], tensor([rank * 10.0]))
assert flat.tolist() == [0, 10, 20]
part = torch.zeros(2)
api.group_reduce_scatter(group, part, [torch.arange(6.0)])
assert part.tolist() == [rank * 6.0, rank * 6.0 + 3], part
api.group_scatter(group, part, [torch.arange(6.0)] if rank == 1 else [], 1)
assert part.tolist() == [rank * 2.0, rank * 2.0 + 1]
api.group_broadcast(group, [part], 2)
assert part.tolist() == [4, 5]
api.group_gather(group, [flat] if rank == 0 else [], tensor([rank + 0.5]), 0)
assert rank or flat.tolist() == [0.5, 1.5, 2.5]
x = tensor([rank + 1.0])
api.group_reduce(group, x, 2, op="avg")
assert x.item() == (2 if rank == 2 else rank + 1)
rows = torch.zeros(3, 2)
api.group_all_to_all(group, [rows], [torch.full((3, 2), float(rank))])
assert rows[:, 0].tolist() == [0, 1, 2]
to, out = (rank + 1) % 3, torch.zeros(4)
sent = api.group_send(group, torch.full((4,), float(rank)), to, 7)
got = api.group_recv(group, out, tag=7)
for work in sent, got:
    api.work_wait(work)
assert out.tolist() == [(rank + 2) % 3] * 4 and api.work_source(got) == (rank + 2) % 3
some = api.group_split(group, [2, 0], backend="mpi", timeout=10)
x = tensor([float(rank)])
if rank != 1:
    api.group_broadcast(some, [x], 0)
    assert x.item() == 2
api.group_barrier(group)
print(f"rank {rank} is well", flush=True)
"""


def run(script: str, ranks: int = 3, timeout: float = 10):
    text = HEAD.format(root=str(ROOT), timeout=timeout) + textwrap.dedent(script)
    with tempfile.NamedTemporaryFile("r") as segments:
        try:
            done = subprocess.run(
                [MPIEXEC, "-n", str(ranks), sys.executable, "-c", text],
                env=environment(FLAMBEAU_NUM_THREADS="1", SEGMENTS=segments.name),
                capture_output=True, text=True, timeout=120,
            )  # fmt: skip
        finally:  # MPI leaves the memory of ranks that do not end it
            for name in set(segments.read().split("\n")):
                if name.startswith("/dev/shm/mpich_shm"):
                    Path(name).unlink(missing_ok=True)
    return done.returncode, done.stdout + done.stderr


def test_every_collective():
    code, said = run(COLLECTIVES)
    assert code == 0, said
    assert all(f"rank {r} is well" in said for r in range(3)), said


def test_groups_that_all_have_left_are_freed():
    """An MPI has some 2,000 communicators."""
    code, said = run(
        """
        for _ in range(2100):
            api.group_split(group, [0, 1], backend="mpi", timeout=10)
        kept = api.group_split(group, [0, 1], backend="mpi", timeout=10)
        x = tensor([1.0])
        api.group_all_reduce(kept, [x])
        assert x.item() == 2
        print(f"rank {rank} is well", flush=True)
        """,
        ranks=2,
    )
    assert code == 0 and said.count("is well") == 2, said


def test_python_programs_start_by_mpirun_alone():
    script = """
    import flambeau as torch
    import flambeau.distributed as dist
    assert dist.is_mpi_available()
    dist.init_process_group("mpi")
    x = torch.ones(2)
    dist.all_reduce(x)
    objects = [None] * dist.get_world_size()
    dist.all_gather_object(objects, {"rank": dist.get_rank()})
    assert objects == [{"rank": 0}, {"rank": 1}] and x.tolist() == [2, 2], (objects, x)
    dist.destroy_process_group()
    print("well", flush=True)
    """
    done = subprocess.run(
        [MPIEXEC, "-n", "2", sys.executable, "-c", textwrap.dedent(script)],
        env=environment(FLAMBEAU_NUM_THREADS="1", WORLD_SIZE="1"), capture_output=True, text=True,
        timeout=60,
    )  # fmt: skip
    assert done.returncode == 0 and done.stdout.count("well") == 2, done.stdout + done.stderr


def test_ranks_that_call_different_things_are_named():
    code, said = run(
        """
        x = torch.ones(4)
        call = api.group_broadcast if rank == 0 else api.group_all_reduce
        kind, text, seconds = failure(lambda: call(group, [x], *([0] if rank == 0 else [])))
        assert seconds < 6 and kind == "CollectiveTimeoutError", (kind, seconds)
        assert "broadcast(float32[4], root 0)" in text and "all_reduce(float32[4], sum)" in text
        print(f"rank {rank} knows", flush=True)
        time.sleep(2)  # mpiexec ends the others with the first
        os._exit(0)
        """,
        ranks=2,
    )
    assert said.count("knows") == 2, (code, said)


def test_a_rank_that_does_not_come_is_named_at_the_deadline():
    code, said = run(
        """
        if rank == 1:
            time.sleep(4)
            os._exit(0)
        kind, text, seconds = failure(lambda: api.group_barrier(group))
        assert 1 <= seconds < 3.5 and kind == "CollectiveTimeoutError", (kind, seconds)
        assert "barrier() #1" in text and "rank 1: has called nothing yet" in text, text
        print("rank 0 knows", flush=True)
        os._exit(0)
        """,
        ranks=2,
        timeout=1,
    )
    assert "rank 0 knows" in said, (code, said)


@pytest.mark.parametrize(
    "name", ["WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"]
)
def test_another_launchers_ranks_are_refused(name):
    """Each would be a job of one."""
    code = "import flambeau.distributed as dist\ndist.init_process_group('mpi')"
    env = environment(FLAMBEAU_NUM_THREADS="1", **{name: "2"})
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=60
    )
    assert f"MPI has started 1 process, but {name} is 2" in done.stderr, done.stderr
    assert "mpirun -n 2" in done.stderr


def test_without_the_library_the_error_says_what_installs_it():
    code = "import gen.api as api\napi.group_init('env://', backend='mpi')"
    env = environment()
    env["PYTHONPATH"] += f":{ROOT}/tests/harness"
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=60
    )
    assert "MPI was not found" in done.stderr, done.stderr
    assert "libmpi_abi.so.1" in done.stderr and "pip install mpich" in done.stderr
