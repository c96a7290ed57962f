"""Tools around a training: doctor and collect_env, the page of memory, progress, charts."""

import io
import json
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree

import flambeau as torch
import pytest
from flambeau import nn
from flambeau.utils import collect_env
from flambeau.utils.plot import Plot
from flambeau.utils.progress import Progress

from tests.harness import child

ROOT = pathlib.Path(__file__).resolve().parents[2]


def command(*arguments, **environment):
    done = child.python("-m", *arguments, **environment)
    return done.returncode, done.stdout, done.stderr


# ---- doctor


def test_the_package_alone_shows_help():
    for arguments in ((), ("help",)):
        status, out, _ = command("flambeau", *arguments)
        assert status == 0 and "doctor" in out
    status, _, problem = command("flambeau", "operate")
    assert status == 2 and "no command 'operate'" in problem


def test_doctor_ticks_crosses_and_mends():
    status, out, _ = command(
        "flambeau", "doctor", FLAMBEAU_SIM="devices=2,memory=64MiB,schedule=lazy", PYTHONUTF8="1"
    )
    assert status == 0 and "✓ flambeau" in out
    assert "2 with 64 MiB each, answering to sim, schedule lazy" in out
    assert not re.search(r"✗ (driver|usable) ", out)  # no fault, and FLAMBEAU_SIM is set already
    assert re.search(r"✓ sim:1 .* 64 MiB free of 64 MiB", out)
    assert 'FLAMBEAU_SIM     "devices=2,memory=64MiB,schedule=lazy"' in out
    status, out, _ = command(
        "flambeau", "doctor", FLAMBEAU_SIM="devises=1", FLAMBEAU_NUM_THREAD="2", PYTHONUTF8="1"
    )
    assert 'FLAMBEAU_SIM has "devises=1"' in out
    assert (
        "✗ FLAMBEAU_NUM_THREAD is read by nothing; the nearest that is: FLAMBEAU_NUM_THREADS" in out
    )
    assert "unset FLAMBEAU_NUM_THREAD\n" in out
    status, out, _ = command("flambeau", "doctor", FLAMBEAU_JOB_KEY="tell nobody", PYTHONUTF8="1")
    assert re.search("FLAMBEAU_JOB_KEY +not shown ", out) and "tell nobody" not in out
    status, out, _ = command("flambeau", "doctor", FLAMBEAU_CHECK="handels,stop", PYTHONUTF8="1")
    assert 'has "handels,stop"; accepted are' in out
    crosses = re.findall(r" ✗ .*\n((?:    .*\n)+)", out)
    assert len(crosses) == out.count("✗"), "every cross has a line to paste"


def test_doctor_knows_every_variable_that_is_read():
    read = set()
    for path in [*(ROOT / "lib").rglob("*.cc"), *(ROOT / "bindings/python/flambeau").glob("*.py")]:
        reads = r'(?:getenv\(|setting_has\(|environ.get\()"(FLAMBEAU_\w+)"'
        read |= set(re.findall(reads, path.read_text()))
    assert len(read) >= 6
    source = (ROOT / "lib/observe/environment.cc").read_text()
    assert read <= set(re.findall(r'{"(FLAMBEAU_\w+)"', source))


def test_config_is_text_for_a_report():
    assert "flambeau: " in torch.__config__.show()
    assert f"up to {torch.get_num_threads()} threads" in torch.__config__.parallel_info()


def test_collect_env_is_text_for_a_report():
    info = collect_env.get_env_info()
    assert info["python"]["python"].startswith(".".join(map(str, sys.version_info[:3])))
    assert info["processor"]["instruction set"].startswith(("SSE2", "AVX2", "AVX-512"))
    assert info["processor"]["threads"].startswith(str(torch.get_num_threads()))
    status, out, _ = command("flambeau.utils.collect_env")
    assert status == 0 and out.startswith("[library]\nflambeau: ") and "[processor]\n" in out


# ---- memory


@pytest.fixture
def recording():
    torch.cuda.memory._record_memory_history(max_entries=100000)
    yield
    torch.cuda.memory._record_memory_history(enabled=None)


def data_of(page):
    text = re.search(r"const DATA = (\[.*?\]);\n?const tip", page, re.S).group(1)
    return json.loads(text.replace("<\\/", "</"))


def test_memory_page_names_holders_at_the_peak(tmp_path, device, recording):
    torch.accelerator.reset_peak_memory_stats(device)
    model = nn.Sequential(nn.Linear(100, 2000), nn.ReLU()).to(device)
    # Rows enough, so that no product's packed operands outweigh what relu adds.
    y = model(torch.ones(500, 100, device=device))
    size = torch.accelerator.memory_allocated(device)
    peak = torch.accelerator.max_memory_allocated(device)
    del y
    torch.accelerator.memory_timeline(tmp_path / "memory.html")
    page = (tmp_path / "memory.html").read_text()
    assert "http://" not in page.replace("http://www.w3.org", "") and "https://" not in page
    name = torch.ones(0, device=device).device
    assert f"<h2>{name}</h2>" in page
    found = data_of(page)[-1 if device != "cpu" else 0]
    held = {(h["module"], h["op"], h["shape"]): h for h in found["holders"]}
    assert held["0", "linear", "f32[500, 2000]"]["bytes"] >= 4000000
    assert held["1", "relu", "f32[500, 2000]"]["bytes"] >= 4000000
    assert sum(h["bytes"] for h in found["holders"]) == found["peak"]
    assert 0.95 * peak <= found["peak"] <= 1.05 * peak  # small blocks enter the statistics late
    assert found["peak"] >= size
    assert found["points"][-1][1] < found["peak"] <= max(p[2] for p in found["points"])
    for svg in re.findall(r"<svg.*?</svg>", page, re.S):
        ElementTree.fromstring(svg)


def test_memory_page_keeps_what_was_there_before(tmp_path):
    before = torch.ones(300, 1000)
    torch.cuda.memory._record_memory_history(max_entries=1000)
    try:
        during = torch.ones(10, 1000)
        del before
        torch.accelerator.memory_timeline(tmp_path / "memory.html")
        found = data_of((tmp_path / "memory.html").read_text())[0]
        held = found["holders"]
        assert any(h["shape"] == "f32[10, 1000]" and h["bytes"] >= 40000 for h in held)
        assert any(not h["shape"] and h["bytes"] >= 1200000 for h in held)
        assert sum(h["bytes"] for h in held) == found["peak"] >= 1240000
        assert during.numel() == 10000
    finally:
        torch.cuda.memory._record_memory_history(enabled=None)


def test_snapshot_is_dumped_for_pytorchs_viewer(tmp_path, recording):
    import pickle

    x = torch.ones(1000)
    torch.cuda.memory._dump_snapshot(tmp_path / "snapshot.pickle")
    found = pickle.loads((tmp_path / "snapshot.pickle").read_bytes())
    assert any(e["action"] == "alloc" for e in found["device_traces"][0]) and x.numel()


# ---- progress


def test_progress_counts_and_asks_for_values_only_when_it_draws(torch):
    shown, asked, held = [], [], torch.ones(1000)

    def loss():
        asked.append(1)
        return 0.5

    def show(event, text, state):
        shown.append((event, text, state))

    with Progress(100, "rows", out=None, callback=show, device="cpu", interval=60) as bar:
        for _ in range(10):
            bar.advance(10, loss=loss)
        bar.say("done")
    assert len(asked) == 1  # the last, which is always drawn
    events = [event for event, _, _ in shown]
    assert events == ["progress", "message", "end"]
    state = shown[0][2]
    assert state["done"] == state["total"] == 100 and state["values"] == {"loss": 0.5}
    assert state["memory"] >= held.nbytes
    assert "rows/s" in shown[0][1] and "100 %" in shown[0][1]
    assert bar.done == 100 and bar.rate > 0 and shown[1][1] == "done"


def test_progress_writes_lines_and_json(tmp_path, capfd):
    with Progress(4, jsonl=tmp_path / "log.jsonl", interval=1e-9) as bar:
        for i in range(4):
            bar.advance(loss=torch.tensor(float(i)))
        bar.say("message")
    out = capfd.readouterr().out
    assert "\x1b" not in out and "loss 3.0000" in out and out.endswith("message\n")
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [line["event"] for line in lines][-3:] == ["progress", "message", "end"]
    assert lines[-3]["values"] == {"loss": 3.0} and lines[-2]["text"] == "message"


def test_progress_of_unknown_length_and_to_any_file():
    out = io.StringIO()
    with Progress(out=out, unit="steps", interval=1e-9) as bar:
        bar.advance(3)
    assert "3.00 steps" in out.getvalue() and "%" not in out.getvalue()
    with pytest.raises(ValueError, match="style 'loud'"):
        Progress(style="loud")

    def fails(*_):
        raise ZeroDivisionError("from the callback")

    bar = Progress(1, out=None, callback=fails)
    with pytest.raises(ZeroDivisionError, match="from the callback"):
        bar.advance()


# ---- charts


def test_charts_have_what_was_drawn(tmp_path):
    plot = Plot("Title")
    plot.panel("One", x_label="epoch", unit=" %").line("a", [1, 2, float("nan"), 3])
    plot.line("b", torch.tensor([3.0, 2.0, 2.0, 2.0]))
    plot.panel("Two", log_y=True).points("a", [1e-3, 10], x=[0, 5])
    plot.panel("Three").bars("c", [1, -2, 3])
    plot.write(tmp_path / "plot.svg")
    root = ElementTree.parse(tmp_path / "plot.svg").getroot()
    space = "{http://www.w3.org/2000/svg}"
    lines = root.findall(f".//{space}polyline")
    assert [len(p.get("points").split()) for p in lines] == [2, 1, 4]
    assert len(root.findall(f".//{space}circle")) == 4
    assert len(root.findall(f".//{space}rect")) == 1 + 3
    texts = [t.text for t in root.findall(f".//{space}text")]
    assert {"Title", "One", "Two", "Three", "epoch", "0.001", "10", "a", "b", "c"} <= set(texts)
    assert any(t.endswith(" %") for t in texts) and plot.svg() == plot._repr_svg_()
    with pytest.raises(ValueError, match='"z" has no values'):
        plot.line("z", [])
