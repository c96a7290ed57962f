"""The profiler as a PyTorch program uses it: averages, tables, traces, schedules, named ranges."""

import json
import re
import threading
import time
import warnings

import flambeau as torch
import pytest
from flambeau import nn
from flambeau.autograd import profiler as autograd_profiler
from flambeau.profiler import (
    ProfilerAction,
    ProfilerActivity,
    profile,
    record_function,
    schedule,
    tensorboard_trace_handler,
)


def net(device):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3)).to(device)


def row(averages, key):
    return next(a for a in averages if a.key == key)


def traced(call, **options):
    """A profile of `call`, and what it says where kernels are not told by name."""
    always = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    try:
        with warnings.catch_warnings(record=True) as told, profile(**options) as found:
            warnings.simplefilter("always")
            call()
    finally:
        torch.set_warn_always(always)
    refused = [str(w.message) for w in told if "without kernels' names" in str(w.message)]
    return found, "".join(refused)


def test_ops_gradients_and_ranges_are_counted(device):
    model, x = net(device), torch.ones(4, 6, device=device)
    with profile(record_shapes=True, profile_memory=True) as found:
        for _ in range(3):
            with record_function("forward"):
                y = model(x)
            y.sum().backward()
    averages = found.key_averages()
    assert row(averages, "linear").count == 6
    assert row(averages, "relu").count == 3
    assert row(averages, "ReluBackward0").count == 3
    forward = row(averages, "forward")
    assert forward.count == 3 and forward.is_user_annotation
    inside = row(averages, "linear").cpu_time_total + row(averages, "relu").cpu_time_total
    assert forward.cpu_time_total >= inside
    assert forward.self_cpu_time_total <= forward.cpu_time_total - inside + 1e-6
    by_shape = found.key_averages(group_by_input_shape=True)
    assert [[4, 6], [5, 6], [5]] in [a.input_shapes for a in by_shape if a.key == "linear"]
    by_module = found.key_averages(group_by_module=True)
    assert {a.module for a in by_module if a.key == "linear"} == {"0", "2"}
    assert {a.module for a in by_module if a.key == "ReluBackward0"} == {"1"}


def test_device_time_where_the_device_keeps_it(device):
    model, x = net(device), torch.ones(4, 6, device=device)
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as found:
        model(x)
    linear = row(found.key_averages(), "linear")
    if device == "cpu":
        assert linear.device_time_total == 0
        assert "Device total" not in found.key_averages().table()
    else:
        assert linear.device_time_total > 0 and linear.cuda_time == linear.device_time_total / 2
        assert "Device total" in found.key_averages().table(sort_by="cuda_time_total")


def test_what_a_device_ran_stands_under_its_op(tmp_path, device, request):
    model, x = net(device), torch.ones(4, 6)
    found, refused = traced(lambda: model(x.to(device)).sum().backward())
    if refused and request.config.getoption("--device") == "cuda":
        pytest.skip(refused)  # of a driver that lets administrators trace alone
    averages = found.key_averages(group_by_module=True)
    ran = [e for e in found.events() if e.kind in ("kernel", "copy", "fill")]
    if device == "cpu":
        assert not ran
        return
    copy = row(averages, "Memcpy HtoD (Pageable -> Device)")
    assert copy.count == 1 and copy.self_cuda_time_total == copy.cuda_time_total > 0
    assert copy.cpu_time_total == 0 and row(averages, "relu_kernel").module == "1"
    relu = next(e for e in found.events() if e.name == "relu")
    assert [k.name for k in relu.kernels] == ["relu_kernel"] and relu.kernels[0].device == 0
    assert relu.kernels[0].duration == relu.self_device_time_total > 0
    total = found.total_average().self_device_time_total
    assert total == pytest.approx(sum(k.duration for e in found.events() for k in e.kernels))
    assert "relu_kernel" in averages.table(sort_by="self_cuda_time_total")
    found.export_chrome_trace(tmp_path / "trace.json")
    trace = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    kernel = next(e for e in trace if e.get("name") == "relu_kernel")
    assert kernel["cat"] == "kernel" and kernel["args"]["device"] == 0
    start, end = (
        next(e for e in trace if e["ph"] == phase and e["cat"] == "ac2g" and e["id"] == number)
        for phase, number in zip("sf", [kernel["args"]["correlation"]] * 2)
    )
    assert (end["tid"], end["ts"]) == (kernel["tid"], kernel["ts"]) and start["ts"] <= end["ts"]
    op = next(e for e in trace if e.get("name") == "relu")
    assert op["tid"] == start["tid"] and 0 <= start["ts"] - op["ts"] <= op["dur"]


def test_profiles_say_once_why_kernels_have_no_names(device, request, monkeypatch):
    if request.config.getoption("--device") != "standin":
        pytest.skip("the stand-in of CUPTI alone refuses on demand")
    model, x = net(device), torch.ones(4, 6, device=device)
    monkeypatch.setenv("FLAMBEAU_STANDIN_CUPTI", "privileges")
    with pytest.warns(UserWarning, match="(?s)without kernels' names.*INSUFFICIENT_PRIVILEGES"):
        with profile() as found:
            model(x)
    assert row(found.key_averages(), "linear").device_time_total > 0
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with profile():
            model(x)
    assert not told  # once is enough
    monkeypatch.setenv("FLAMBEAU_STANDIN_CUPTI", "drops")
    with pytest.warns(UserWarning, match=r"misses \d+ kernels or copies"), profile() as found:
        model(x)


def test_memory_is_attributed_to_the_op_that_took_it(device):
    x = torch.ones(1000, device=device)
    with profile(profile_memory=True) as found:
        y = x + 1
        with record_function("inside"):
            z = y.exp()
        del y
    events = {e.name: e for e in found.events()}
    key = "cpu_memory_usage" if device == "cpu" else "device_memory_usage"
    assert getattr(events["add"], key) >= 4000
    assert getattr(events["exp"], "self_" + key) == getattr(events["inside"], key) >= 4000
    assert events["exp"].cpu_parent is events["inside"]
    assert z.numel() == 1000


def test_table_sorts_by_any_column():
    with profile(profile_memory=True) as found:
        a = torch.ones(300, 300)
        for _ in range(3):
            a = a @ a
        a.exp()
    averages = found.key_averages()

    def order(column):
        lines = averages.table(sort_by=column).splitlines()[3:]
        return [line.split()[0] for line in lines[: len(averages)]]

    assert order("count")[0] == "matmul"
    assert order("cpu_memory_usage")[0] in ("matmul", "mm")
    assert order("name") == sorted(a.key for a in averages)
    assert len(averages.table(row_limit=1).splitlines()) == 6
    with pytest.raises(ValueError, match='no column "speed".*\n*.*cpu_time_total'):
        averages.table(sort_by="speed")


def test_trace_is_what_chrome_reads(tmp_path, device):
    model, x = net(device), torch.ones(4, 6, device=device)
    with profile(record_shapes=True, with_modules=True, profile_memory=True) as found:
        model(x).sum().backward()
    found.export_chrome_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    spans = [e for e in events if e["ph"] == "X"]
    linear = next(e for e in spans if e["name"] == "linear")
    assert linear["args"]["Input Dims"] == [[4, 6], [5, 6], [5]]
    assert linear["args"]["Module Hierarchy"] == "0" and linear["dur"] > 0
    module = next(e for e in spans if e["name"] == "nn.Module: 0")
    assert module["ts"] <= linear["ts"] <= module["ts"] + module["dur"]
    start = {e["id"]: e for e in events if e["ph"] == "s"}
    end = {e["id"]: e for e in events if e["ph"] == "f"}
    assert len(start) >= 4 and start.keys() == end.keys()
    assert any(e.get("cat") == "memory" for e in events)
    assert all(isinstance(e[key], int) for e in events for key in ("pid", "tid") if key in e)
    assert any(e["cat"] == "kernel" for e in spans) == (device != "cpu")


def test_modules_are_no_rows_and_their_time_is_their_callers(device):
    model, x = net(device), torch.ones(4, 6, device=device)

    def call():
        with record_function("all"):
            model(x)

    found, refused = traced(call, with_modules=True)
    averages = found.key_averages()
    ran = set() if device == "cpu" or refused else {"kernel"}
    assert {e.kind for e in found.events()} == {"range", "module", "op"} | ran
    assert not {"0", "1", "2", "Sequential"} & {a.key for a in averages}
    whole = row(averages, "all").cpu_time_total
    assert sum(a.self_cpu_time_total for a in averages) == pytest.approx(whole, rel=1e-6)


def test_schedule_gives_a_trace_per_cycle(tmp_path):
    ready = []
    plan = schedule(wait=1, warmup=1, active=2, repeat=2)
    assert [plan(i).name for i in range(9)] == [
        *["NONE", "WARMUP", "RECORD", "RECORD_AND_SAVE"] * 2,
        "NONE",
    ]

    def handler(found):
        ready.append([e.name for e in found.events() if e.name != "ones"])
        tensorboard_trace_handler(str(tmp_path), use_gzip=len(ready) == 2)(found)

    with profile(schedule=plan, on_trace_ready=handler) as found:
        for _ in range(9):
            torch.ones(1).exp()
            found.step()
    assert ready == [
        ["ProfilerStep#2", "exp", "ProfilerStep#3", "exp"],
        ["ProfilerStep#6", "exp", "ProfilerStep#7", "exp"],
    ]
    names = sorted(p.name for p in tmp_path.iterdir())
    assert [n.endswith(".pt.trace.json") for n in names] == [True, False]
    assert names[1].endswith(".pt.trace.json.gz")
    with pytest.raises(AssertionError, match="active=0"):
        schedule(wait=0, warmup=1, active=0)
    assert ProfilerAction.NONE.value == 0


def test_threads_have_tracks_of_their_own():
    def work():
        with record_function("on a thread"):
            torch.ones(2).exp()

    with profile() as found:
        threads = [threading.Thread(target=work) for _ in range(3)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        torch.ones(2).exp()
    exps = [e for e in found.events() if e.name == "exp"]
    assert len({e.thread for e in exps}) == len(exps) == 4
    assert [e.cpu_parent.name for e in exps if e.cpu_parent] == ["on a thread"] * 3


def test_ranges_may_end_late_and_profiles_do_not_nest():
    stray = record_function("stray").__enter__()
    with profile() as found:
        stray.__exit__(None, None, None)  # of no profiler: ignored
        opened = record_function("open").__enter__()
        torch.ones(1).exp()
        with pytest.raises(ValueError, match="running already"), profile():
            pass
    opened.__exit__(None, None, None)
    assert [e.name for e in found.events() if e.name in ("open", "exp")] == ["open", "exp"]
    with pytest.raises(AssertionError, match="didn't finish"):
        profile().events()


def test_failing_ops_leave_no_range_open():
    with profile() as found:
        with pytest.raises(RuntimeError):
            torch.ones(2) + torch.ones(3)
        torch.ones(2).exp()
    assert next(e for e in found.events() if e.name == "exp").cpu_parent is None


def test_autograd_profile_and_decorated_functions():
    @record_function("decorated")
    def work():
        return torch.ones(3).exp()

    with autograd_profiler.profile(record_shapes=True) as found:
        work()
    assert {"decorated", "exp"} <= {e.key for e in found.function_events}
    assert found.total_average().count == len(found.events())
    assert "decorated" in str(found)
    with autograd_profiler.profile(enabled=False) as off:
        work()
    assert str(off) == "<unfinished profile>"


class Slow(torch.utils.data.Dataset):
    """Samples that take 20 ms each."""

    def __len__(self):
        return 4

    def __getitem__(self, index):
        time.sleep(0.02)
        return torch.full((3,), float(index))


def waits_for_input(device):
    for batch in torch.utils.data.DataLoader(Slow()):
        batch.to(device) + 1


def waits_for_the_device(device):
    for _ in range(4):
        (torch.ones(3, device=device) + 1).sum().item()
        time.sleep(0.02)


def launches_slowly(device):
    for _ in range(4):
        torch.ones(3, device=device) + 1
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (waits_for_input, "input"),
        (waits_for_the_device, "synchronization"),
        (launches_slowly, "launches"),
    ],
)
def test_the_report_says_why_a_device_waits(device, program, reason):
    with profile() as found:
        program(device)
    report = found.step_report()
    if device == "cpu":
        assert report.endswith("recorded without device times: device_time=True\n")
        return
    shares = {
        name: float(share) for name, share in re.findall(r"^  (\w+) +([\d.]+) %", report, re.M)
    }
    idle = float(re.search(r"^cuda:0: busy [\d.]+ %, idle ([\d.]+) %$", report, re.M)[1])
    assert shares[reason] > 60 and abs(sum(shares.values()) - idle) < 0.3, report


def test_a_report_counts_steps(device):
    with profile(schedule=schedule(wait=1, warmup=1, active=3)) as found:
        for _ in range(5):
            torch.ones(3, device=device) + 1
            found.step()
    assert re.match(r"3 steps of [\d.]+ ms\n", found.step_report())
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as found:
        pass
    assert found.step_report().endswith("no work of a GPU was recorded\n")
    with profile(activities=[ProfilerActivity.CPU]) as found:
        torch.ones(3, device=device)
    assert found.step_report().endswith("recorded without device times: device_time=True\n")
