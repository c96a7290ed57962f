"""GPT-2, ResNet-50 and the LSTM at their smallest: they learn on every device and in every dtype,
go on bit for bit where they were killed, read each other's weights, and refuse wrong options.
"""

import importlib
import re
import sys

import pytest
import zoo
from programs import ROOT, python_program, run

MODELS = "gpt2", "resnet50", "lstm"
SIM = {"FLAMBEAU_SIM": "devices=1,memory=64MiB,as=cuda"}
LAUNCH = [sys.executable, "-m", "flambeau.distributed.run", "--nproc-per-node", "2"]


@pytest.fixture
def refused(monkeypatch, capsys):
    """What a program says of options that it refuses before it makes a step: one line."""
    monkeypatch.syspath_prepend(ROOT / "examples/python")

    def says(name, *given):
        import training

        monkeypatch.setattr(sys, "argv", [f"{name}.py", *map(str, given)])
        with pytest.raises(SystemExit) as ended:
            training.program(f"{name}.py", importlib.import_module(name).main)
        printed = capsys.readouterr()
        problem = printed.err.splitlines()[-1] if ended.value.code == 2 else ended.value.code
        assert problem.startswith(f"{name}.py: ") and "\n" not in problem
        assert "step " not in printed.out
        return problem

    return says


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text(zoo.TEXT)
    return path


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize("name", MODELS)
def test_devices_learn_alike(name, dtype, text):
    more = "--dtype", dtype, "--steps", "16", *(("--dropout", 0) if name == "lstm" else ())
    cpu, sim = (zoo.train(name, text, *more, **env) for env in ({}, SIM))
    assert "device   cpu" in cpu and "device   cuda" in sim
    found = zoo.numbers(cpu)
    assert len(found) == 16 and sum(found[-3:]) < 0.9 * sum(found[:3]), cpu
    assert zoo.numbers(sim)[:4] == pytest.approx(found[:4], rel=1e-3 if dtype == "f32" else 2e-2)
    assert "held-out" in cpu and re.search(r"[0-9] (tokens|images|words)/s", cpu)


@pytest.mark.parametrize("name", MODELS)
def test_who_was_killed_goes_on_bit_for_bit(refused, name, text, tmp_path):
    dtype = {"gpt2": "f16", "resnet50": "bf16", "lstm": "bf16"}[name]
    more = ["--steps", "8", "--accumulate", "2", "--dtype", dtype]
    more += [] if name == "resnet50" else ["--dropout", "0.2"]
    expected = zoo.losses(zoo.train(name, text, *more))
    kept = ["--checkpoint", tmp_path / "kept", "--every", "3"]
    before = zoo.losses(zoo.killed(name, text, 6, *more, *kept))
    output = zoo.train(name, text, *more, *kept, "--resume")
    assert "begins at step 3 of 8" in output
    assert zoo.losses(output) == {s: expected[s] for s in ("4", "5", "6", "7", "8")}
    assert before == {s: expected[s] for s in ("1", "2", "3", "4", "5")}
    assert "add --resume" in refused(name, *zoo.options(name, text, *more, *kept))


@pytest.mark.parametrize("name", ["gpt2", "lstm"])
def test_parts_and_processes_are_the_whole_batch(name, text):
    """ResNet's are not: each part has norms of its own."""
    more = ["--steps", "4", *(("--dropout", "0") if name == "lstm" else ())]
    whole = zoo.train(name, text, *more)
    more += ["--batch-size", "2"]
    parts = zoo.train(name, text, *more, "--accumulate", "2")
    shared = run([*LAUNCH, python_program(name)[1], *zoo.options(name, text, *more)])
    assert "2 processes" in shared
    for output in parts, shared:
        assert zoo.numbers(output) == pytest.approx(zoo.numbers(whole), rel=1e-4)


def test_weights_are_the_public_checkpoint_s(text, tmp_path):
    from flambeau.safetensors import load_file, save_file

    saved, public = tmp_path / "w.safetensors", tmp_path / "public.safetensors"
    learnt = zoo.train("gpt2", text, "--steps", "12", "--save", saved)
    state = load_file(saved)
    assert state["h.0.attn.c_attn.weight"].shape == (16, 48)
    assert state["h.0.mlp.c_fc.weight"].shape == (16, 64)
    more = {"lm_head.weight": state["wte.weight"], "h.0.attn.bias": state["wpe.weight"]}
    save_file({f"transformer.{n}": v for n, v in (state | more).items()}, public)
    outputs = [
        zoo.train("gpt2", text, "--weights", path, "--lr", "0", "--steps", "1", "--width", "32")
        for path in (saved, public)
    ]
    held_out = r"held-out loss [0-9.]+"
    for output in outputs:
        assert re.findall(held_out, output) == re.findall(held_out, learnt)
        assert output.split("\n\n")[-1] == learnt.split("\n\n")[-1]


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_the_gpt_in_c_learns_the_same_weights(in_c, dtype, text, tmp_path):
    more = ["--steps", "8", "--dtype", dtype, "--layers", "2"]
    more += ["--context", "250"] if dtype == "bf16" else []  # few windows, of which one is held out
    written = {}
    for language, command in ("python", python_program("gpt2")), ("c", in_c):
        weights = tmp_path / f"{language}.safetensors"
        output = run([*command, *zoo.options("gpt2", text, *more, "--save", weights)])
        written[language] = weights.read_bytes(), zoo.losses(output), output.split("\n\n")[-1]
        if dtype == "bf16":
            written[language] = written[language][:2]  # C writes with f32
    assert written["c"] == written["python"] and len(written["c"][1]) == 8


def test_the_gpt_in_c_reads_weights_and_refuses_wrong_options(in_c, text, tmp_path):
    saved = tmp_path / "w.safetensors"
    learnt = zoo.train("gpt2", text, "--steps", "8", "--save", saved)
    more = "--weights", saved, "--lr", "0", "--steps", "1"
    read = run([*in_c, *zoo.options("gpt2", text, *more)])
    assert read.split("\n\n")[-1] == learnt.split("\n\n")[-1]
    for wrong, said in (
        (("--steps", "0"), "--steps must be at least 1"),
        (("--lr", "fast"), "--lr needs a number"),
        (("--lr", "nan"), "--lr must not be negative"),
        (("--heads", "3"), "--heads: must divide the width"),
        (("--context", "1000"), "--context"),
        (("--text", "absent.txt"), "absent.txt"),
        (("--save", "weights.bin"), "--save must end with"),
        (("--dtype", "f16"), "--dtype must be"),
        (("--weights", text), "safetensors"),
    ):
        problem = run([*in_c, *zoo.options("gpt2", text, *wrong)], fails=True)
        assert said in problem and "step " not in problem, problem


def test_tokens_and_images_of_files(refused, text, tmp_path):
    import numpy as np

    (np.arange(400) * 150).astype("<u2").tofile(tmp_path / "tokens.bin")
    more = ["--tokens", tmp_path / "tokens.bin", "--vocabulary", "60000", "--steps", "2"]
    assert len(zoo.losses(zoo.train("gpt2", text, *more))) == 2
    few = zoo.options("gpt2", text, *more[:3], "1000", "--steps", "2")
    assert "--vocabulary" in refused("gpt2", *few)

    images = np.random.default_rng(0).integers(0, 256, (20, 3, 8, 8), np.uint8)
    np.save(tmp_path / "images.npy", images)
    np.save(tmp_path / "labels.npy", np.arange(20) % 4)
    given = "--images", tmp_path, "--steps", "2", "--channels-last", "--nesterov"
    assert len(zoo.losses(zoo.train("resnet50", text, *given))) == 2
    np.save(tmp_path / "labels.npy", np.arange(20) % 5)
    assert "--classes 4" in refused("resnet50", *zoo.options("resnet50", text, *given))


WRONG = [
    ("gpt2", ("--steps", "0"), "--steps"),
    ("gpt2", ("--heads", "3"), "--width 16 is no multiple of --heads 3"),
    ("gpt2", ("--context", "1000"), "--context 1000"),
    ("gpt2", ("--resume",), "--resume needs --checkpoint"),
    ("gpt2", ("--save", "weights.bin"), "--save"),
    ("resnet50", ("--momentum", "0", "--nesterov"), "--nesterov needs"),
    ("lstm", ("--text", "absent.txt"), "absent.txt"),
    ("lstm", ("--window", "9000"), "--window 9000"),
    ("lstm", ("--dtype", "int8"), "--dtype"),
    ("lstm", ("--lr", "nan"), "--lr"),
]


@pytest.mark.parametrize(("name", "wrong", "said"), WRONG, ids=str)
def test_wrong_options_are_refused_in_one_line(refused, name, wrong, said, text):
    assert said in refused(name, *zoo.options(name, text, *wrong))


def test_shares_of_the_peak_are_by_formula(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "examples/python")
    import flambeau as torch
    import rates
    import resnet50

    assert rates.peak_of("NVIDIA H100 80GB HBM3", "bf16") == 989.4e12
    assert rates.peak_of("NVIDIA H100 PCIe", "bf16") == 756e12
    assert rates.peak_of("NVIDIA A100-SXM4-80GB", "f32") == 19.5e12
    assert rates.peak_of("Tesla T4", "f16") == 65e12
    assert rates.peak_of("Tesla T4", "bf16") is rates.peak_of("NVIDIA H1000", "f32") is None
    assert rates.peak(torch.device("cpu"), "f32") is None
    with torch.device("meta"):
        model = resnet50.ResNet((3, 4, 6, 3), 64, 1000)
    assert sum(p.numel() for p in model.parameters()) == 25_557_032  # torchvision's resnet50
    assert rates.of_images(model, 224) == pytest.approx(3 * 2 * 4.089e9, rel=1e-3)
    assert rates.of_transformer(124e6, 12, 768, 1024) == 6 * 124e6 + 12 * 12 * 768 * 1024
