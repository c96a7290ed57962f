"""The examples over the stand-ins for NVIDIA's runtime and libraries, where the CUDA provider and
the GPU's kernels run as they are: every language learns there as on the cpu, and no call breaks a
contract, for that ends a program with an error.
"""

from pathlib import Path

import pytest
from programs import accuracy, library, run
from test_chars import losses

STANDIN = Path(library()).resolve().parent / "standin" / "libflambeau.so.0"
GPUS = {"FLAMBEAU_LIBRARY": str(STANDIN), "FLAMBEAU_SIM": "devices=2,memory=256MiB"}

pytestmark = pytest.mark.skipif(not STANDIN.exists(), reason="built without the stand-ins")


def test_every_language_learns_digits(languages, tmp_path):
    options = ["--save", tmp_path / "w.safetensors", "--epochs", "3"]
    for name, command in languages.items():
        found, wanted = run([*command, *options], **GPUS), run([*command, *options])
        assert "device   cuda" in found, f"{name}\n{found}"
        assert abs(accuracy(found) - accuracy(wanted)) < 1, f"{name}\n{found}"


def test_every_language_learns_to_write(writers, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("the quick brown fox. " * 20)
    options = ["--text", text, "--save", tmp_path / "w.safetensors", "--epochs", "2"]
    for name, command in writers.items():
        both = [losses(run([*command, *options, "--length", "4"], **env)) for env in (GPUS, {})]
        assert len(both[0]) == 2, f"{name}: {both}"
        assert both[0] == pytest.approx(both[1], rel=1e-2), f"{name}: {both}"
