"""What one sees of communication: the table of its cost, its place in profiles, one trace of all
ranks with one clock, and a progress bar on rank 0 only."""

import gzip
import json
import os
import subprocess
import sys

import pytest

from tests.dist import ranks

SIMULATED = {"FLAMBEAU_SIM": "devices=1,as=cuda"}
STEPS = 4


def _begin(backend="gloo"):
    import flambeau as torch
    import flambeau.distributed as dist

    dist.init_process_group(backend)
    return torch, dist


def _ddp(torch):
    torch.manual_seed(0)
    layers = [torch.nn.Linear(64, 64) for _ in range(4)]
    model = torch.nn.Sequential(*layers, torch.nn.Linear(64, 1))
    return torch.nn.parallel.DistributedDataParallel(model, bucket_cap_mb=0.03)


def table(rank, size):
    torch, dist = _begin()
    x = torch.ones(1000)
    for _ in range(3):
        dist.all_reduce(x)
    pair = dist.new_group([0, 1])
    dist.broadcast(x, 0, group=pair)
    if rank < 2:
        (dist.send if rank == 0 else dist.recv)(x, 1 - rank)
    model = _ddp(torch)
    dist.reset_summary()
    for _ in range(STEPS):
        model(torch.ones(8, 64)).sum().backward()
    dist.all_reduce(x)
    dist.broadcast(x, 0, group=pair)
    dist.destroy_process_group()
    found = dist.summary()
    rows = {(r.collective, r.ddp, r.group): r for r in found}
    of_ddp = rows["all_reduce", True, "world"]
    assert of_ddp.bytes == STEPS * 4 * sum(p.numel() for p in model.parameters())
    assert of_ddp.ranks == tuple(range(size)) and of_ddp.backend == "gloo"
    assert 0 <= of_ddp.hidden_seconds <= of_ddp.seconds
    assert of_ddp.hidden_share == pytest.approx(of_ddp.hidden_seconds / of_ddp.seconds)
    assert of_ddp.algorithm_bandwidth == pytest.approx(of_ddp.bytes / of_ddp.seconds)
    assert of_ddp.bus_bandwidth == pytest.approx(2 * (size - 1) / size * of_ddp.algorithm_bandwidth)
    assert found.ddp_hidden_share == pytest.approx(of_ddp.hidden_share)
    assert 0 <= found.hidden_share <= 1 and found.seconds > of_ddp.seconds
    assert rows["all_reduce", False, "world"].calls == 1
    text = str(found)
    assert "all_reduce (DDP)" in text and "of which backward hid" in text
    return of_ddp.calls, [list(key) for key in rows], len(found)


def test_a_table_says_what_a_training_has_communicated():
    for rank, (calls, rows, n) in enumerate(ranks.values(table, 2)):
        assert calls == 2 + 3 * (STEPS - 1), rank  # more buckets once backward's order is known
        assert ["broadcast", False, "group-1"] in rows and n == len(rows)
        assert not any(row[0] in ("send", "recv") for row in rows)  # before the reset


def traced(rank, size, path, device):
    torch, dist = _begin("nccl" if device == "cuda" else "gloo")
    from flambeau.distributed import profiler
    from flambeau.profiler import profile

    model = _ddp(torch) if device == "cpu" else None
    x = torch.ones(1000, device=device)
    with profile() as found:
        dist.all_reduce(x)
        if rank == 0:
            dist.send(x, 1)
        elif rank == 1:
            dist.recv(x, 0)
        dist.all_gather_into_tensor(torch.empty(1000 * size, device=device), x)
        if model is not None:
            model(torch.ones(8, 64)).sum().backward()
        torch.ones(3, device=device).exp()
        dist.barrier()
    found.export_chrome_trace(f"{path}/rank{rank}.json")
    before = dist.summary().rows
    profiler.export_chrome_trace(found, f"{path}/all.json.gz" if rank == 0 else "elsewhere")
    assert dist.summary().rows == before
    offset = profiler.align_clocks()
    found.export_chrome_trace(f"{path}/aligned{rank}.json")
    keys = {a.key: (a.count, a.kind) for a in found.key_averages()}
    events = [e.name for e in found.events() if e.kind == "communication"]
    dist.destroy_process_group()
    return keys, events, offset


def _read(path):
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt") as file:
        return json.load(file)


def _communication(trace):
    return [e for e in trace["traceEvents"] if "Collective name" in e.get("args", {})]


def _moved_by(trace, own, rank):
    """By how many microseconds a trace of all ranks shows a rank's first collective elsewhere than
    the rank's own trace: on one machine that is the error of the clocks' alignment."""
    first = next(e for e in _communication(own) if e["args"].get("Seq"))
    shown = next(
        e
        for e in _communication(trace)
        if e["pid"] == 1000 * rank and e["args"].get("Seq") == first["args"]["Seq"]
    )
    return shown["ts"] - first["ts"]


def _is_one_trace(events, size, error_us):
    """The ranks are processes, and what they did together was under way on all of them at once."""
    spans = [e for e in events if "Collective name" in e.get("args", {})]
    names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    of_ranks = sorted(name for name in names.values() if "(" in name)
    assert [name.split(" (")[0] for name in of_ranks] == [f"rank {r}" for r in range(size)]
    assert all(name.endswith(")") and ", " in name for name in of_ranks)
    assert all(isinstance(e["pid"], int) and e["pid"] in names for e in events)
    assert {e["pid"] for e in events if e["name"] == "process_sort_index"} == names.keys()
    together = {}
    for e in spans:
        if e["args"].get("Seq"):
            together.setdefault(e["args"]["Seq"], []).append(e)
    assert len(together) >= 3
    for calls in together.values():
        assert len({e["pid"] for e in calls}) == len(calls) == size
        # What all take part in cannot have ended anywhere before it began everywhere.
        last_begin = max(e["ts"] for e in calls)
        assert last_begin <= min(e["ts"] + e["dur"] for e in calls) + error_us + 200
    arrows = {(e["cat"], e["id"], e["ph"]) for e in events if e["ph"] in "sf"}
    assert len(arrows) == len([e for e in events if e["ph"] in "sf"])
    assert len({number for _, number, _ in arrows}) >= size


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_one_trace_of_all_ranks(tmp_path, device):
    more = SIMULATED if device == "cuda" else {}
    for rank, (keys, events, offset) in enumerate(
        ranks.values(traced, 2, str(tmp_path), device, **more)
    ):
        backend = "nccl" if device == "cuda" else "gloo"
        reduced = 1 if device == "cuda" else 3  # and two buckets of gradients
        assert keys[f"{backend}:all_reduce"] == [reduced, "communication"]
        assert events.count(f"{backend}:all_gather") == 1
        assert f"{backend}:{'recv' if rank else 'send'}" in events
        assert abs(offset) < 0.1  # half of a round trip at most, of a machine that is busy
        _has_torchs_keys(_read(tmp_path / f"rank{rank}.json"), rank, backend, device)
    assert not (tmp_path / "all.json").exists() and not list(tmp_path.glob("*elsewhere*"))
    whole = _read(tmp_path / "all.json.gz")
    moved = [_moved_by(whole, _read(tmp_path / f"rank{r}.json"), r) for r in (0, 1)]
    assert max(map(abs, moved)) < 1e5
    _is_one_trace(whole["traceEvents"], 2, abs(moved[1] - moved[0]))
    files = [tmp_path / f"aligned{r}.json" for r in (1, 0)]
    for file in files:
        assert _read(file)["clockOfRank0"] is True
    _merged(files, tmp_path / "merged.json")
    _is_one_trace(_read(tmp_path / "merged.json")["traceEvents"], 2, 1e6 * abs(offset))


def _has_torchs_keys(trace, rank, backend, device):
    assert trace["distributedInfo"]["rank"] == rank and trace["host_name"]
    assert trace["distributedInfo"]["world_size"] == 2
    reduced = next(e for e in _communication(trace) if e["name"] == f"{backend}:all_reduce")
    assert reduced["args"]["Collective name"] == "allreduce"
    assert reduced["args"]["In msg nelems"] == reduced["args"]["Out msg nelems"] == 1000
    assert reduced["args"]["Group size"] == 2 and reduced["args"]["dtype"] == "Float"
    assert reduced["args"]["Process Group Name"] == "world"
    assert reduced["args"]["Process Group Ranks"] == "[0, 1]"
    assert "test_sight.py" in reduced["args"]["Place"]
    gathered = next(e for e in _communication(trace) if e["name"] == f"{backend}:all_gather")
    assert gathered["args"]["Out msg nelems"] == 2000 and gathered["dur"] > 0
    pair = next(e for e in _communication(trace) if "Src Rank" in e["args"])
    assert (pair["args"]["Src Rank"], pair["args"]["Dst Rank"]) == (0, 1)
    lanes = {e["tid"] for e in _communication(trace)}
    others = {e["tid"] for e in trace["traceEvents"] if e.get("cat") == "cpu_op"}
    assert others and not lanes & others
    threads = [e for e in trace["traceEvents"] if e["name"] == "thread_name"]
    named = {e["args"]["name"] for e in threads if e["tid"] in lanes}
    assert named == {"communication of world (2 ranks)"}
    if device == "cpu":
        buckets = [e for e in _communication(trace) if e["args"].get("Purpose") == "DDP"]
        assert len(buckets) == 2 and all(b["args"]["Waited us"] >= 0 for b in buckets)


def _merged(files, out):
    from flambeau.distributed.profiler import __name__ as program

    command = [sys.executable, "-m", program, str(out), *map(str, files)]
    path = {"PYTHONPATH": str(ranks.ROOT / "bindings" / "python")}
    ended = subprocess.run(command, capture_output=True, text=True, timeout=30, env=path)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def unwritable(rank, size, path):
    torch, dist = _begin()
    from flambeau.distributed import profiler
    from flambeau.profiler import profile

    with profile() as found:
        dist.barrier()
    with pytest.raises(OSError, match="No such file" if rank == 0 else "rank 0 could not write"):
        profiler.export_chrome_trace(found, f"{path}/absent/all.json")
    dist.barrier()  # the group is as it was
    dist.destroy_process_group()


def test_a_trace_that_cannot_be_written_is_an_error_on_all_ranks(tmp_path):
    ranks.values(unwritable, 3, str(tmp_path))
    assert not list(tmp_path.iterdir())


def unpackable(rank, size, path):
    torch, dist = _begin()
    from flambeau.distributed import profiler
    from flambeau.profiler import profile

    with profile() as found:
        dist.barrier()
    before = dist.summary().rows
    with pytest.raises(OSError, match="directory" if rank == 0 else "rank 0 could not write"):
        profiler.export_chrome_trace(found, f"{path}/all.json.gz" if rank == 0 else "elsewhere")
    profiler.export_chrome_trace(found, f"{path}/more.json.gz" if rank == 0 else "elsewhere")
    assert dist.summary().rows == before
    dist.destroy_process_group()


def test_a_trace_that_cannot_be_packed_is_an_error_on_all_ranks_and_leaves_what_was_there(tmp_path):
    (tmp_path / "all.json.gz").mkdir()
    for name in "all.json", "more.json":
        (tmp_path / name).write_text("the user's")
    ranks.values(unpackable, 3, str(tmp_path))
    assert {(tmp_path / name).read_text() for name in ("all.json", "more.json")} == {"the user's"}
    names = sorted(one.name for one in tmp_path.iterdir())
    assert names == ["all.json", "all.json.gz", "more.json", "more.json.gz"]
    assert _read(tmp_path / "more.json.gz")["traceEvents"]


def quiet(rank, size, path, backend, device):
    torch, dist = _begin(backend)
    from flambeau.profiler import profile

    with profile() as found:
        torch.ones(3, device=device).exp()
    found.export_chrome_trace(f"{path}/{rank}.json")
    dist.destroy_process_group()


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_trace_without_communication_says_its_rank(tmp_path, device):
    from flambeau.distributed.profiler import merge_traces

    backend, more = ("nccl", SIMULATED) if device == "cuda" else ("gloo", {})
    ranks.values(quiet, 2, str(tmp_path), backend, device, **more)
    for rank in range(2):
        told = _read(tmp_path / f"{rank}.json")["distributedInfo"]
        assert (told["rank"], told["world_size"], told["backend"]) == (rank, 2, backend)
        assert [group["ranks"] for group in told["pg_config"]] == [[0, 1]]
    merge_traces([tmp_path / "1.json", tmp_path / "0.json"], tmp_path / "all")
    shown = {e["pid"]: e["args"]["name"] for e in _read(tmp_path / "all")["traceEvents"]
             if e["name"] == "process_name"}  # fmt: skip
    assert shown[0].startswith("rank 0 (") and shown[1000].startswith("rank 1 (")


def _trace(path, **members):
    event = {"ph": "X", "cat": "cpu_op", "name": "add", "pid": 7, "tid": 7, "ts": 10.0, "dur": 1.0}
    path.write_text(json.dumps({"traceEvents": [event], "host_name": "a", **members}))
    return path


def test_traces_are_merged_by_rank_and_refused_where_they_do_not_fit(tmp_path):
    from flambeau.distributed.profiler import merge_traces

    one = _trace(tmp_path / "1", distributedInfo={"rank": 1}, baseTimeNanoseconds=5000)
    zero = _trace(tmp_path / "0", distributedInfo={"rank": 0}, baseTimeNanoseconds=2000)
    merge_traces([one, zero], tmp_path / "out")
    made = _read(tmp_path / "out")
    spans = [e for e in made["traceEvents"] if e["ph"] == "X"]
    assert [(e["pid"], e["ts"]) for e in spans] == [(0, 7.0), (1000, 10.0)]
    assert made["baseTimeNanoseconds"] == 5000
    untold = _trace(tmp_path / "2")
    with pytest.raises(ValueError, match="2 does not say of which rank"):
        merge_traces([one, untold], tmp_path / "out")
    with pytest.raises(ValueError, match="1 is of rank 1, and so is another"):
        merge_traces([one, one], tmp_path / "out")
    (tmp_path / "bad").write_text("[1, 2")
    with pytest.raises(ValueError, match="bad is no trace"):
        merge_traces([one, tmp_path / "bad"], tmp_path / "out")
    elsewhere = _trace(tmp_path / "3", host_name="b")
    with pytest.warns(UserWarning, match="several machines"):
        merge_traces([untold, elsewhere], tmp_path / "out.gz")
    assert len(_read(tmp_path / "out.gz")["traceEvents"]) == 4
    assert not list(tmp_path.glob("*partial*"))


BAD = {
    "[1, 2]": "traceEvents",
    '{"traceEvents": [7]}': "not all of its traceEvents are objects",
    '{"traceEvents": [], "distributedInfo": null}': "distributedInfo is no object",
    '{"traceEvents": [], "distributedInfo": {"rank": "x"}}': "rank is no whole number",
    '{"traceEvents": [], "baseTimeNanoseconds": null}': "base time is no number",
    '{"traceEvents": [], "host_name": ["x"]}': "host_name is no text",
    '{"traceEvents": [{"ts": "x"}]}': "time is no number",
    '{"traceEvents": [{"pid": [1]}]}': "process has no number or name",
    '{"traceEvents": [{"name": "process_name", "pid": 1}]}': "process_name has no args",
    '{"traceEvents": [{"name": "process_name", "pid": 1, "args": {}}]}': "has no name",
    "\udcff": "traceEvents",
}


@pytest.mark.parametrize("text", BAD)
def test_what_is_no_trace_is_refused_by_its_name(tmp_path, text):
    from flambeau.distributed.profiler import main

    (tmp_path / "bad").write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(SystemExit, match=f"bad is no trace.*{BAD[text]}"):
        main([str(tmp_path / "out"), str(tmp_path / "bad")])
    assert not (tmp_path / "out").exists()


def test_events_of_no_process_stay_as_they_are(tmp_path):
    from flambeau.distributed.profiler import merge_traces

    (tmp_path / "0").write_text('{"traceEvents": [{"ph": "i", "name": "x"}, {"pid": 4}]}')
    merge_traces([tmp_path / "0"], tmp_path / "out")
    first, second, _ = _read(tmp_path / "out")["traceEvents"]
    assert first == {"ph": "i", "name": "x"} and second == {"pid": 0}


def bars(rank, size):
    from flambeau.utils.progress import Progress

    _, dist = _begin()
    del os.environ["RANK"]  # the group says it
    with Progress(2, interval=1e-9) as bar:
        bar.advance(2)
    dist.destroy_process_group()


def test_progress_of_a_job_is_shown_by_rank_0_alone():
    first, *others = ranks.run(bars, 2)
    assert first.output.startswith("100 %") and first.code == 0
    assert [(one.output, one.code) for one in others] == [("", 0)]


def test_progress_before_there_is_a_job_asks_the_launcher(capfd, monkeypatch):
    from flambeau.utils.progress import Progress

    for rank, shown in ("0", True), ("1", False), ("", True):
        monkeypatch.setenv("RANK", rank)
        with Progress(2, interval=1e-9) as bar:
            bar.advance(2)
        assert capfd.readouterr().out.startswith("100 %") == shown, rank
        assert bar.done == 2
