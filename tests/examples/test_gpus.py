"""The examples where kernels are those of a GPU: on one, or over the stand-ins for NVIDIA's runtime
and libraries, where no call breaks a contract, for that ends a program with an error. Every
language learns there as on the cpu.
"""

import pytest
from programs import accuracy, run
from test_chars import losses

CPU = ("--device", "cpu")


@pytest.mark.parametrize("form", ["perceptron", "conv"])
def test_every_language_learns_digits(gpus, languages, tmp_path, form):
    if form == "conv" and gpus:
        pytest.skip("a minute for each epoch over the stand-ins")
    options = ["--save", tmp_path / "w.safetensors", "--epochs", "3"]
    options += ["--conv"] if form == "conv" else []
    for name, command in languages.items():
        found, wanted = run([*command, *options], **gpus), run([*command, *options, *CPU])
        assert "device   cuda" in found, f"{name}\n{found}"
        assert abs(accuracy(found) - accuracy(wanted)) < 1, f"{name}\n{found}"


def test_every_language_learns_to_write(gpus, writers, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("the quick brown fox. " * 20)
    options = ["--text", text, "--save", tmp_path / "w.safetensors", "--epochs", "2"]
    for name, command in writers.items():
        runs = (([], gpus), (CPU, {}))
        both = [losses(run([*command, *options, "--length", "4", *o], **env)) for o, env in runs]
        assert len(both[0]) == 2, f"{name}: {both}"
        assert both[0] == pytest.approx(both[1], rel=1e-2), f"{name}: {both}"
