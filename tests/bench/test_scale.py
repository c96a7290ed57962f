"""Scale on paper: what its formulas cannot say, how far they are from what others measured, and
that the page and the picture beside it are what they say today."""

import json
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import scale  # noqa: E402
from scaling import (  # noqa: E402
    chart,
    collectives,
    failures,
    hardware,
    measured,
    memory,
    outlook,
    published,
    report,
    runs,
    training,
)
from scaling.collectives import Group, Link  # noqa: E402
from scaling.memory import Model  # noqa: E402
from scaling.training import Efficiency, Plan  # noqa: E402

KEPT = json.loads((HERE / "results/amd-epyc-zen-3-collectives.json").read_text())
FREE = Link(0.0, 1e9)
RANKS = (1, 2, 3, 8, 64, 1024, 16384)
SIZES = (4.0, 1e3, 1e6, 1e9)


def group(ranks, per_node=8):
    per_node = min(ranks, per_node)
    ranks -= ranks % per_node
    return Group(ranks, per_node, Link(2e-6, 240e9), Link(5e-6, 24e9))


@pytest.mark.parametrize("ranks", RANKS)
def test_a_ring_moves_the_least_bytes(ranks):
    of = Group(ranks, ranks, FREE, FREE)
    expected = pytest.approx(2 * (ranks - 1) / ranks * 1e6 / 1e9)
    assert collectives.ring_all_reduce(of, 1e6) == expected
    halves = collectives.reduce_scatter(of, 1e6) + collectives.all_gather(of, 1e6)
    assert halves == expected
    assert all(collectives.all_reduce(group(ranks), s) == 0 for s in SIZES) == (ranks == 1)


@pytest.mark.parametrize("way", ["all_reduce", "reduce_scatter", "broadcast", "all_to_all"])
def test_more_bytes_take_longer_and_so_do_more_ranks(way):
    cost = getattr(collectives, way)
    for ranks in RANKS[1:]:
        times = [cost(group(ranks), size) for size in SIZES]
        assert times == sorted(times) and times[0] > 0
    for size in SIZES:
        times = [cost(group(ranks), size) for ranks in (8, 16, 64, 1024, 16384)]
        assert times == sorted(times)


@pytest.mark.parametrize("size", SIZES)
def test_a_hierarchy_of_one_level_is_the_ring(size):
    for of in group(8), Group(64, 1, FREE, Link(5e-6, 24e9)):
        flat = collectives.ring_all_reduce(of, size)
        assert collectives.hierarchical_all_reduce(of, size) == pytest.approx(flat)


def test_trees_win_where_latency_counts_and_cannot_beat_the_bytes():
    many = group(1024)
    assert collectives.tree_all_reduce(many, 4) < collectives.ring_all_reduce(many, 4) / 20
    assert collectives.ring_all_reduce(many, 1e10) < collectives.tree_all_reduce(many, 1e10)
    for ranks in RANKS[1:]:
        for size in SIZES:
            assert collectives.tree_all_reduce(group(ranks), size) >= 2 * size / 240e9
    two = Group(2, 2, Link(3e-6, 1e9), FREE)
    assert collectives.broadcast(two, 1e6) == pytest.approx(2 * 3e-6 + 1e6 / 1e9)


def test_nodes_that_are_not_full_are_refused():
    with pytest.raises(ValueError, match="12 ranks do not fill nodes of 8"):
        Group(12, 8, FREE, FREE)
    with pytest.raises(ValueError, match="a group of 0 ranks"):
        Group(0, 8, FREE, FREE)


def test_overlap_is_between_the_longer_one_and_the_sum():
    for backward, buckets, transfer in ((1.0, 10, 0.01), (1.0, 10, 0.5), (1.0, 1, 0.2)):
        took = training.overlapped(backward, buckets, transfer)
        first = backward / buckets
        assert took >= max(backward + transfer, first + buckets * transfer) - 1e-12
        assert took <= backward + buckets * transfer + 1e-12
    assert training.overlapped(1.0, 1, 0.2) == pytest.approx(1.2)
    assert training.gathered(4, 1.0, 0.1) == pytest.approx(4.1)
    assert training.gathered(4, 0.1, 1.0, 1.0) == pytest.approx(1 + 3 * 2 + 0.1 + 1)


def test_states_and_traffic_are_those_of_the_paper():
    for stage in memory.STAGES:
        assert memory.states(1e9, 1, stage) == 16e9
        rooms = [memory.states(1e9, n, stage) for n in (1, 2, 64, 1024)]
        assert rooms == sorted(rooms, reverse=True)
    assert memory.states(1e9, 1000, 3) == pytest.approx(16e6)
    assert [memory.traffic(1.0, stage) for stage in memory.STAGES] == [2, 2, 2, 3]
    with pytest.raises(ValueError, match="ZeRO has the stages 1, 2 and 3"):
        memory.states(1e9, 2, 4)


def test_recomputation_trades_memory():
    model = Model("", 96, 12288, 96)
    none, selective, full = (
        memory.activations(model, 2048, 96, how, 8, True) for how in memory.RECOMPUTE
    )
    # Korthikanti et al., section 5: attention's scores are 70 % of GPT-3's activations.
    assert 1 - selective / none == pytest.approx(0.7, abs=0.01) and full < selective / 4
    fused = replace(model, fused=True)
    assert memory.activations(fused, 1, 1, "none") == memory.activations(fused, 1, 1, "selective")
    with pytest.raises(ValueError, match="recompute is one of none, selective, full"):
        memory.activations(model, 1, 1, "some")


def test_models_have_the_parameters_of_their_papers():
    billions = (1.7, 3.6, 7.5, 18.4, 39.1, 76.1, 145.6, 310.1, 529.6, 1008.0)
    shapes = [row[:3] for row in runs.MEGATRON]
    for (layers, hidden, heads), said in zip(shapes, billions):
        assert Model("", layers, hidden, heads).parameters / 1e9 == pytest.approx(said, rel=0.03)


EVEN = Efficiency(0.5, 3.0)
MODEL = Model("", 16, 2048, 16, fused=True)


def step(**how):
    return training.step(MODEL, Plan(**{"batch": 256, **how}), hardware.DGX_H100, EVEN)


def test_a_step_of_one_rank_is_that_of_plain_ddp():
    alone = [step(gpus=1, batch=8, stage=stage) for stage in memory.STAGES]
    assert len({s.memory for s in alone}) == 1
    assert [s.seconds for s in alone] == pytest.approx([alone[0].seconds] * 4)
    assert alone[0].parts["data"] == pytest.approx(0) and alone[0].parts["tensor"] == 0


def test_parts_appear_with_their_cause():
    wide, deep = step(gpus=64, tensor=8), step(gpus=64, pipeline=8)
    assert wide.parts["tensor"] > 0 and wide.parts["bubble"] == wide.parts["pipeline"] == 0
    assert deep.parts["bubble"] > 0 and deep.parts["pipeline"] > 0 and deep.parts["tensor"] == 0
    assert step(gpus=64, pipeline=8, chunks=2).parts["bubble"] == deep.parts["bubble"] / 2
    hidden, shown = step(gpus=64), step(gpus=64, overlap=False)
    assert 0 < hidden.parts["data"] < shown.parts["data"]
    sharded = [step(gpus=64, stage=3, overlap=o).parts["data"] for o in (True, False)]
    assert 0 < sharded[0] < sharded[1]
    for of in (wide, deep, hidden):
        assert of.seconds == pytest.approx(sum(of.parts.values()))


def test_with_more_gpus_computation_shrinks_and_the_rest_does_not():
    steps = [step(gpus=n) for n in (8, 16, 64, 256)]
    compute = [n * s.parts["compute"] for n, s in zip((8, 16, 64, 256), steps)]
    assert compute == pytest.approx([compute[0]] * 4)
    shares = [s.parts["data"] / s.seconds for s in steps]
    assert shares == sorted(shares)


def test_plans_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match="12 GPUs are no multiple of 8 x 1"):
        Plan(12, 64, tensor=8)
    with pytest.raises(ValueError, match="a batch of 4 is less than 8 ranks with 1 each"):
        Plan(8, 4)


def test_daly_finds_the_best_interval():
    for save, between in ((5.0, 1e4), (60.0, 1e4), (600.0, 1e4)):
        best = max(range(10, 20000, 5), key=lambda t: failures.goodput(t, save, 300.0, between))
        assert failures.daly(save, between) == pytest.approx(best, rel=0.05)
        at_best = failures.goodput(best, save, 300.0, between)
        assert failures.best_goodput(save, 300.0, between) == pytest.approx(at_best, rel=1e-3)
        young = failures.young(save, between)
        assert failures.goodput(young, save, 300.0, between) <= at_best
    assert failures.daly(100.0, 50.0) == 50.0
    assert failures.best_goodput(1.0, 300.0, 1e12) == pytest.approx(1, abs=1e-3)
    assert failures.goodput(1.0, 1.0, 1e6, 1.0) == 0.0
    shares = [failures.best_goodput(30.0, 600.0, between) for between in (1e3, 1e4, 1e5, 1e6)]
    assert shares == sorted(shares) and 0 < shares[0] < shares[-1] < 1


def test_the_fit_finds_what_times_were_made_of():
    for name, (steps, share) in measured.steps_and_bytes(4).items():
        made = {str(s): steps * 2e-5 + share * s / 3e9 for s in measured.SIZES}
        found = measured.fit(made, steps, share)
        assert found.link.latency == pytest.approx(2e-5), name
        assert found.link.bandwidth == pytest.approx(3e9), name
        assert found.worst == pytest.approx(1)
    flat = measured.fit({"4": 1e-5, "4000": 1e-5}, 1, 1.0)
    assert flat.link.latency > 0 and flat.link.bandwidth > 1e9


def test_what_was_measured_here_has_the_models_form():
    assert "Zen 3" in KEPT["processor"] and KEPT["ranks"] == 2
    found = measured.fits(KEPT)
    assert set(found) == set(measured.steps_and_bytes(2))
    for name, fit in found.items():
        assert len(fit.residuals) == len(measured.SIZES), name
        assert fit.worst < 2.5, f"{name}: {fit.residuals}"
        assert 1e-6 < fit.link.latency < 1e-3 and 1e8 < fit.link.bandwidth < 1e11
    for name, taken in KEPT["steps"].items():
        assert 0.4 < measured.predicted_step(KEPT, name) / taken["ddp"] < 1.3, name


def test_the_model_is_as_near_to_published_figures_as_it_says():
    figures = published.figures()
    assert report.check(figures) == []
    held = [f for f in figures if not f.fitted and not f.miss]
    assert len(held) > 80 and min(f.gpus for f in held) <= 8
    assert {64, 128, 256, 512, 1024} <= {f.gpus for f in held}
    assert all(len(f.miss) > 20 for f in figures if f not in held and not f.fitted)


def test_a_figure_that_moves_away_is_told():
    figures = published.figures()
    held = next(f for f in figures if not f.miss)
    missed = next(f for f in figures if f.miss)
    far, near = (
        replace(held, predicted=9 * held.measured),
        replace(missed, predicted=missed.measured),
    )
    assert "9.00 of what was measured" in report.check([far])[0]
    assert "said to be off, and is not" in report.check([near])[0]


def test_the_page_and_the_picture_are_current():
    again = "\n.venv/bin/python tests/bench/scale.py --write"
    page = report.page(KEPT, published.figures())
    assert (HERE / "results/scale.md").read_text() == page, again
    assert (HERE / "results/scale.svg").read_text() == chart.svg(outlook.panels()), again


def test_the_picture_is_whole():
    panels = outlook.panels()
    root = ElementTree.fromstring(chart.svg(panels))
    texts = [t.text for t in root.iter("{http://www.w3.org/2000/svg}text")]
    for panel in panels:
        assert {panel.title, panel.x_label, panel.y_label} <= set(texts)
        assert {name for name, _, _ in panel.curves} <= set(texts)
        for _, xs, ys in panel.curves:
            assert len(xs) == len(ys) > 1 and all(y > 0 for y in ys)
    assert "16,384" in texts and "nan" not in chart.svg(panels)


def test_measuring_two_processes(tmp_path, monkeypatch, capsys):
    def called(path, *more):
        monkeypatch.setattr(sys, "argv", ["scale.py", "--measure", str(path), *more])
        return scale.main()

    kept = tmp_path / "found.json"
    assert called(kept, "--seconds=0.001", "--rounds=1", "--processor=a test's") == 0
    found = json.loads(kept.read_text())
    assert found["processor"] == "a test's" and found["ranks"] == 2
    for fit in measured.fits(found).values():
        assert len(fit.residuals) == len(measured.SIZES) and fit.link.bandwidth > 0
    with pytest.raises(SystemExit):
        called(tmp_path / "absent" / "found.json")
    assert "there is no folder" in capsys.readouterr().err
