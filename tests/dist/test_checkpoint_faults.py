"""Saves that are killed or fail at every one of their steps leave the former checkpoint whole, and
damaged checkpoints are errors that change nothing."""

import errno
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import zlib

import pytest

import flambeau as torch
import flambeau.distributed.checkpoint as dcp
from flambeau.distributed.checkpoint import _index
from tests.dist.launching import environment

pytestmark = pytest.mark.filterwarnings("ignore:torch.distributed is disabled|Detected an existing")
STEPS = "open write fsync replace unlink close makedirs listdir".split()


def state(value):
    return {
        "w": torch.full((1000,), float(value)),
        "b": torch.full((3,), float(value)),
        "t": (value, torch.ones(2)),
        "n": value,
    }


def loaded(folder):
    """The value that the whole checkpoint has."""
    found = {**state(-1), "t": None}
    dcp.load(found, checkpoint_id=folder, no_dist=True)
    values = {found["n"], found["t"][0], *found["w"].tolist(), *found["b"].tolist()}
    assert len(values) == 1, values
    return found["n"]


class Steps:
    """Counts a save's calls of the system and lets the n-th do something else."""

    def __init__(self, patch, n, act):
        self.left = n
        for name in STEPS:
            patch(name, self.counted(getattr(os, name), name, act))

    def counted(self, real, name, act):
        def call(*args, **options):
            self.left -= 1
            if self.left == 0:
                act(name, real, args, options)
            return real(*args, **options)

        return call


def die_halfway(name, real, args, options):
    """Half of what is to be written gets there."""
    if name == "write":
        real(args[0], bytes(args[1])[: len(args[1]) // 2])
    os.kill(os.getpid(), signal.SIGKILL)


def die_after(name, real, args, options):
    real(*args, **options)
    os.kill(os.getpid(), signal.SIGKILL)


def child(folder):
    """Kills saves at each of their steps, in forks of this process; prints how many there were."""
    import warnings

    warnings.simplefilter("ignore")
    dcp.save(state(0), checkpoint_id=folder, no_dist=True)
    whole, deaths = 0, 0
    for act in die_halfway, die_after:
        for n in range(1, 1000):
            pid = os.fork()
            if not pid:
                Steps(lambda name, call: setattr(os, name, call), n, act)
                dcp.save(state(whole + 1), checkpoint_id=folder, no_dist=True)
                os._exit(0)
            _, status = os.waitpid(pid, 0)
            found = loaded(folder)
            assert found in (whole, whole + 1), (n, found, whole)
            if status == 0:
                assert found == whole + 1
                assert len(os.listdir(folder)) == 2, os.listdir(folder)
            whole = found
            if status == 0:
                break
            assert os.WTERMSIG(status) == signal.SIGKILL
            deaths += 1
    print(deaths, flush=True)


def test_killed_at_every_step(tmp_path):
    script = "import sys; from tests.dist.test_checkpoint_faults import child; child(sys.argv[1])"
    path = os.pathsep.join([os.getcwd(), environment()["PYTHONPATH"]])
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "checkpoint")],
        env=environment(PYTHONPATH=path), timeout=40, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 40


def test_a_disk_that_is_full_at_every_step(tmp_path):
    def fail(name, real, args, options):
        if name == "write" and n % 2:
            real(args[0], bytes(args[1])[:1])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    dcp.save(state(0), checkpoint_id=tmp_path, no_dist=True)
    files, whole, failed = sorted(os.listdir(tmp_path)), 0, 0
    for n in range(1, 1000):
        with pytest.MonkeyPatch.context() as patch:
            counted = Steps(lambda name, call: patch.setattr(os, name, call), n, fail)  # noqa: B023
            try:
                dcp.save(state(whole + 1), checkpoint_id=tmp_path, no_dist=True)
            except (dcp.CheckpointException, OSError) as problem:
                assert "No space left on device" in str(problem)
                failed += 1
        found = loaded(tmp_path)
        if found == whole:  # nothing is left of what failed
            assert sorted(os.listdir(tmp_path)) == files
        assert found in (whole, whole + 1)
        whole, files = found, sorted(os.listdir(tmp_path))
        if counted.left > 0:
            break
    assert failed >= 15 and whole >= 1


def test_a_limit_on_the_size_of_files(tmp_path):
    dcp.save(state(0), checkpoint_id=tmp_path, no_dist=True)
    files = sorted(os.listdir(tmp_path))
    limits, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.getsignal(signal.SIGXFSZ)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3000, limits[1]))
    try:
        with pytest.raises(dcp.CheckpointException, match="rank 0: OSError: .*File too large.*r0"):
            dcp.save(state(1), checkpoint_id=tmp_path, no_dist=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert loaded(tmp_path) == 0 and sorted(os.listdir(tmp_path)) == files


# ---- damage


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved") / "checkpoint"
    dcp.save(state(3), checkpoint_id=folder, no_dist=True)
    return folder


@pytest.fixture
def copy(saved, tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(saved, folder)
    return folder


def data_file(folder):
    (file,) = folder.glob("save-*.safetensors")
    return file


def unchanged(folder, *texts):
    """A load fails and says these, and has written to nothing."""
    target = {**state(-1), "t": None}
    with pytest.raises(dcp.CheckpointException) as caught:
        dcp.load(target, checkpoint_id=folder, no_dist=True)
    for text in texts:
        assert text in str(caught.value)
    assert target["n"] == -1 and target["t"] is None
    assert set(target["w"].tolist()) == set(target["b"].tolist()) == {-1.0}


def test_truncated_files(saved, copy):
    file = data_file(copy)
    whole = file.read_bytes()
    index = json.loads((saved / "index.json").read_text())["index"]
    bounds = {0, 1, 7, 8, 9, len(whole) - 1, *random.Random(0).sample(range(len(whole)), 20)}
    for entry in [p for t in index["tensors"].values() for p in t["pieces"]]:
        bounds |= {entry["at"] - 1, entry["at"], entry["at"] + 1}
    for length in sorted(bounds):
        file.write_bytes(whole[:length])
        unchanged(copy, f"{length} bytes long, but {len(whole)} were saved", file.name)
    file.write_bytes(whole + b"\0")
    unchanged(copy, file.name)
    file.unlink()
    unchanged(copy, file.name, "is gone")


def test_damaged_bytes(saved, copy):
    file = data_file(copy)
    whole = file.read_bytes()
    index = json.loads((saved / "index.json").read_text())["index"]
    regions = {name: entry["pieces"][0] for name, entry in index["tensors"].items()}
    regions["t"] = index["values"]["t"]
    for name, region in regions.items():
        at = region["at"] + 2
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        unchanged(copy, file.name, f"the bytes of {name} are damaged")


def test_damaged_index(saved, copy):
    path, rng = copy / "index.json", random.Random(0)
    whole = path.read_bytes()
    for length in {0, 1, len(whole) - 3, *rng.sample(range(len(whole) - 2), 30)}:
        path.write_bytes(whole[:length])
        unchanged(copy, "index.json")
    for at in rng.sample(range(len(whole) - 1), 100):
        damaged = whole[:at] + bytes([whole[at] ^ (1 << rng.randrange(8))]) + whole[at + 1 :]
        path.write_bytes(damaged)
        unchanged(copy, "index.json")
    path.write_text('{"flambeau_checkpoint":2,"crc32":0,"index":{}}')
    unchanged(copy, "a checkpoint of version 2; this flambeau reads version 1")
    for text in ("[" * 100000, "null", "[]", '"x"', "1e999", "\0\0"):
        path.write_text(text)
        unchanged(copy, "index.json")


def signed(index):
    """The text of an index that lies, with the sum that it would have."""
    body = json.dumps(index, sort_keys=True, separators=(",", ":"))
    crc = zlib.crc32(body.encode())
    return f'{{"flambeau_checkpoint":1,"crc32":{crc},"index":{body}}}'


def test_an_index_that_lies(saved, copy):
    """Every value of the index is replaced by others, and its sum is made to agree."""
    index = json.loads((saved / "index.json").read_text())["index"]
    count = [0]

    def places(value):
        inner = value.items() if isinstance(value, dict) else enumerate(value)
        for key, entry in list(inner):
            yield value, key
            if isinstance(entry, (dict, list)):
                yield from places(entry)

    for holder, key in places(index):
        before = holder[key]
        for lie in (None, -1, 1 << 70, "../../etc/passwd", [], {}, [[]], 1.5, True, {"tuple": 1}):
            holder[key] = lie
            (copy / "index.json").write_text(signed(index))
            target = {**state(-1), "t": None}
            try:
                dcp.load(target, checkpoint_id=copy, no_dist=True)
            except dcp.CheckpointException:
                count[0] += 1
                assert set(target["w"].tolist()) == {-1.0}
        holder[key] = before
    assert count[0] > 300
    (copy / "index.json").write_text(signed(index))
    assert loaded(copy) == 3


def test_names_of_files_stay_in_the_directory():
    name = _index.file_name("0123456789abcdef", 12)
    assert _index.FILE.fullmatch(name)
    for wrong in "../x", "/etc/passwd", "save-0-r0.safetensors", f"../{name}", f"{name}\n":
        assert not _index.FILE.fullmatch(wrong)
