"""The examples of several processes end where one process with the whole batches does."""

import re
import subprocess
import sys

import pytest
from programs import DATA, ROOT, accuracy, compile_c, environment, run, rust_program

PROGRAM = ROOT / "examples/python/ddp.py"
LAUNCH = [sys.executable, "-m", "flambeau.distributed.run"]


def epochs(said):
    """The mean loss of each epoch: of all processes, and not of the one that prints it."""
    return [float(loss) for loss in re.findall(r"^epoch .* loss ([0-9.]+)$", said, re.MULTILINE)]


def test_python(tmp_path):
    from flambeau.safetensors import load_file

    learned, loss = {}, {}
    for ranks in 1, 2:
        saved = tmp_path / f"{ranks}.safetensors"
        said = run([*LAUNCH, "--nproc-per-node", ranks, PROGRAM, "--epochs", 3, "--save", saved])
        assert f"{ranks} process{'es' * (ranks > 1)} on cpu" in said and accuracy(said) > 90
        loss[ranks] = epochs(said)
        learned[ranks] = load_file(saved)
    assert len(loss[1]) == 3 and loss[1] == pytest.approx(loss[2], abs=0.002)
    alone = tmp_path / "alone.safetensors"
    run([sys.executable, PROGRAM, "--epochs", 3, "--save", alone])
    for name, one in learned[1].items():
        assert one.equal(load_file(alone)[name])
        assert (one - learned[2][name]).abs().max() < 1e-4 * one.abs().max()


def test_a_batch_that_the_processes_cannot_share_is_refused(tmp_path):
    command = [*LAUNCH, "--nproc-per-node", 2, PROGRAM, "--batch-size", 31]
    assert "2 processes cannot share a batch of 31 images alike" in run(command, fails=True)
    from flambeau.distributed import TCPStore

    program = compile_c(ROOT / "examples/c/ddp.c", tmp_path / "ddp")
    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    started = _started(program, 3, store)
    said = _said(started)
    assert [p.returncode for p in started] == [1] * 3 and not any(out for out, _ in said)
    # Who is late finds that another rank has left already.
    assert any("processes must divide a batch of 64 images" in errors for _, errors in said)


def _started(program, ranks, store):
    """The program's processes, over the ranks' store, so that their port is nobody else's."""
    job = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(store.port), "WORLD_SIZE": str(ranks)}
    job["TORCHELASTIC_USE_AGENT_STORE"] = "True"
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return [
        subprocess.Popen([program, DATA], env=environment(**job, RANK=str(r)), **pipes)
        for r in range(ranks)
    ]


def _said(started):
    try:
        return [p.communicate(timeout=120) for p in started]
    finally:
        for p in started:
            p.kill()


def test_c(tmp_path):
    from flambeau.distributed import TCPStore

    program = compile_c(ROOT / "examples/c/ddp.c", tmp_path / "ddp")
    score, loss = {}, {}
    for ranks in 1, 2:
        store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
        started = _started(program, ranks, store)
        said = [out for out, _ in _said(started)]
        assert [p.returncode for p in started] == [0] * ranks and not any(said[1:])
        score[ranks] = float(re.search(rf"^{ranks} process(?:es)?: ([0-9.]+) %", said[0], re.M)[1])
        loss[ranks] = epochs(said[0])
    assert len(loss[1]) == 10 and loss[1] == pytest.approx(loss[2], abs=0.002)
    assert epochs(run([program])) == loss[1]  # without a launcher
    assert score[1] == score[2] > 90


def test_rust_prints_what_c_does(tmp_path):
    program, c = rust_program("ddp"), compile_c(ROOT / "examples/c/ddp.c", tmp_path / "ddp")
    alone = ""
    for ranks in 1, 2:
        started = [*LAUNCH, "--no-python", "--nproc-per-node", ranks]
        said = {run([*started, *command]) for command in (program, [c])}
        assert len(said) == 1 and f"{ranks} process{'es' * (ranks > 1)}: " in min(said)
        alone = alone or min(said)
    assert run(program) == alone
    command = [*LAUNCH, "--no-python", "--nproc-per-node", 3, *program]
    assert "processes must divide a batch of 64 images" in run(command, fails=True)
    absent = run([*program, tmp_path / "absent.safetensors"], fails=True)
    assert absent.startswith("ddp: ") and "absent.safetensors" in absent
