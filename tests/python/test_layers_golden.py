"""Every layer against PyTorch's stored values: outputs, gradients, buffers, state dict keys,
printed form (tests/golden/make.py made them)."""

import json
import pathlib

import numpy as np
import pytest

from tests.golden import layers

STORED = json.loads(
    (pathlib.Path(layers.__file__).with_suffix(".json")).read_text(encoding="utf-8")
)


def same(mine, theirs):
    """Whether two summaries of a tensor agree."""
    assert mine["shape"] == theirs["shape"]
    np.testing.assert_allclose(mine["start"], theirs["start"], rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(mine["sum"], theirs["sum"], rtol=1e-7, atol=1e-8)


def test_every_case_is_stored():
    assert list(STORED) == list(layers.CASES)


@pytest.mark.parametrize("name", layers.CASES)
def test_layer(torch, device, name):
    got, stored = layers.results(torch, name, device), STORED[name]
    assert got["repr"] == stored["repr"]
    assert got["state"] == stored["state"]
    for what in "outputs", "buffers":
        for mine, theirs in zip(got[what], stored[what], strict=True):
            same(mine, theirs)
    for mine, theirs in zip(got["gradients"], stored["gradients"], strict=True):
        assert mine == pytest.approx(theirs or 0.0, rel=1e-6, abs=1e-8) or mine is theirs is None
