"""Ways to start a job: options and what is wrong with them, scripts, modules, programs,
functions."""

import os
import re

import pytest

TWO = ("--nproc-per-node", "2")


def test_ways_to_start(launch, tmp_path):
    (tmp_path / "as_module.py").write_text("import sys; print('module', sys.argv[1:])")
    job = launch("", *TWO, "-m", "as_module", "a")
    out, _ = job.done(0)
    assert out.count("module ['a',") == 2
    out, _ = launch("", *TWO, "--no-python", "echo", "plain").done(0)
    assert len(re.findall("^plain ", out, re.M)) == 2
    out, _ = launch("print(sys.argv[1:], __name__)", "--run-path", args=["b"]).done(0)
    assert out == "['b'] __main__\n"
    old = "flambeau.distributed.launch"
    # Ranks are not buffered: print would make two writes, between which the other rank's may come.
    one_write = 'sys.stdout.write(f"{sys.argv[1:]}\\n")'
    out, err = launch(one_write, *TWO, module=old, args=["c"]).done(0)
    assert sorted(out.split("\n")) == ["", "['--local-rank=0', 'c']", "['--local-rank=1', 'c']"]
    assert "is deprecated" in err
    out, _ = launch("print(sys.argv[1:])", "--use-env", module=old, args=["c"]).done(0)
    assert out == "['c']\n"


def test_a_program_that_fails_is_no_python_to_mend(launch, tmp_path):
    """What it printed is its error, there or in the file that is named; it has no `record`."""
    failing = "-c", "echo broken >&2; exit 3"
    for options, shown in (
        (("--no-python",), "what the rank printed"),
        (
            ("--no-python", "-r", "2", "--log-dir", str(tmp_path / "logs")),
            "/attempt_0/0/stderr.log",
        ),
    ):
        _, err = launch("", *options, "sh", *failing).done(1)
        assert f"{shown}\n" in err and "none was recorded; see " in err and "record of" not in err


def test_torch_is_flambeau_in_every_rank(launch):
    script = """
import torch
from torch.distributed.elastic.multiprocessing.errors import record
@record
def main(): print(torch.__name__, sys.argv[1:])
main()
"""
    module, options = "flambeau.as_torch", ("-m", "torch.distributed.run", *TWO)
    out, _ = launch(script, *options, module=module, args=["z"]).done(0)
    assert out == "flambeau ['z']\n" * 2


@pytest.mark.filterwarnings("ignore:Unable to enable fault handler")  # stderr is no file
@pytest.mark.parametrize(
    "options, text",
    [
        (["--nproc-per-node", "some"], "Unsupported nproc_per_node value: some"),
        (["--nproc-per-node", "0"], "nproc_per_node must be at least 1, got 0"),
        (["--nnodes", "1:2"], "nodes that come and go (--nnodes 1:2) need --rdzv-backend c10d"),
        (["--nnodes", "many"], 'nnodes=many is not in "MIN:MAX" format'),
        (["--max-restarts=-1"], "max_restarts must be >= 0, got -1"),
        (["--rdzv-backend", "etcd"], "rendezvous backend 'etcd' is unsupported: use static"),
        (["--rdzv-conf", "timeout"], "'timeout' is not in the format <key>=<value>"),
        (["--tee", "4"], "'4' names no streams: give 0 (none), 1 (stdout)"),
        (["--signals-to-handle", "SIGFOO"], "'SIGFOO' is no signal"),
        (["--local-ranks-filter", "a"], "must be a comma-separated list of integers"),
        (["--no-python", "-m"], "Don't use both the '--no-python' flag"),
        (["--shutdown-timeout=-1"], "shutdown_timeout must be non-negative"),
        (["--job-key-file", "nowhere"], "'nowhere'; make a key by\n  (umask 077; python3"),
        (["--nnodes", "2"], "(umask 077; python3 -c "),
        (["--no-python", "/nowhere/at/all"], "or no program: '/nowhere/at/all'"),
        (["--frobnicate"], "required: training_script"),
    ],
)
def test_wrong_options(tmp_path, monkeypatch, capsys, options, text):
    from flambeau.distributed import run

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FLAMBEAU_JOB_KEY", raising=False)
    (tmp_path / "script.py").write_text("raise SystemExit('it ran')")
    script = [] if "--frobnicate" in options else ["script.py"]
    try:
        code = run.command_line([*options, *script])
    except SystemExit as leaving:  # argparse
        code = leaving.code
    assert code == 2 and text in capsys.readouterr().err


def test_help_names_every_option(capsys):
    from flambeau.distributed import run

    with pytest.raises(SystemExit):
        run.parse_args(["--help"])
    out = capsys.readouterr().out
    for name in ("nnodes", "nproc_per_node", "max-restarts", "rdzv-endpoint", "job-key-file"):
        assert f"--{name}" in out
    assert "Exit code: 0" in out


def add(a, b):
    return a + b + int(os.environ["RANK"])


def repeat(text, times):
    return text * times


def fail():
    raise KeyError("lost")


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_functions(method):
    from flambeau.distributed.elastic.multiprocessing.errors import ChildFailedError
    from flambeau.distributed.launcher.api import LaunchConfig, elastic_launch

    config = LaunchConfig(1, 1, 2, start_method=method, max_restarts=0)
    before = dict(os.environ)
    if method == "fork":
        assert elastic_launch(config, add)(3, 4) == {0: 7, 1: 8}
        long = "x" * (1 << 20)  # more than a pipe holds
        assert elastic_launch(config, repeat)("x", 1 << 20) == {0: long, 1: long}
        with pytest.raises(ChildFailedError, match="(?s)fail FAILED.*KeyError: 'lost'"):
            elastic_launch(config, fail)()
    else:
        assert elastic_launch(config, max)(3, 4) == {0: 4, 1: 4}
    assert dict(os.environ) == before
