"""The examples of several processes end where one process with the whole batches does."""

import re
import subprocess
import sys

from programs import DATA, ROOT, accuracy, compile_c, environment, run

PROGRAM = ROOT / "examples/python/ddp.py"
LAUNCH = [sys.executable, "-m", "flambeau.distributed.run"]


def test_python(tmp_path):
    from flambeau.safetensors import load_file

    learned = {}
    for ranks in 1, 2:
        saved = tmp_path / f"{ranks}.safetensors"
        said = run([*LAUNCH, "--nproc-per-node", ranks, PROGRAM, "--epochs", 3, "--save", saved])
        assert f"{ranks} processes on cpu" in said and accuracy(said) > 90
        learned[ranks] = load_file(saved)
    alone = tmp_path / "alone.safetensors"
    run([sys.executable, PROGRAM, "--epochs", 3, "--save", alone])
    for name, one in learned[1].items():
        assert one.equal(load_file(alone)[name])
        assert (one - learned[2][name]).abs().max() < 1e-4 * one.abs().max()


def test_c(tmp_path):
    from flambeau.distributed import TCPStore

    program = compile_c(ROOT / "examples/c/ddp.c", tmp_path / "ddp")
    score = {}
    for ranks in 1, 2:
        # The ranks' store, so that their port is nobody else's.
        store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
        job = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(store.port), "WORLD_SIZE": str(ranks)}
        job["TORCHELASTIC_USE_AGENT_STORE"] = "True"
        started = [
            subprocess.Popen(
                [program, DATA], env=environment(**job, RANK=str(r)), stdout=subprocess.PIPE,
                text=True,
            )
            for r in range(ranks)
        ]  # fmt: skip
        try:
            said = [p.communicate(timeout=120)[0] for p in started]
        finally:
            for p in started:
                p.kill()
        assert [p.returncode for p in started] == [0] * ranks and not any(said[1:])
        score[ranks] = float(re.search(rf"^{ranks} processes: ([0-9.]+) %", said[0]).group(1))
    assert score[1] == score[2] > 90
