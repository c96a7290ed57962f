"""Functional forms against PyTorch's stored values, with first and second derivatives
(tests/golden/make.py made them)."""

import json
import pathlib

import numpy as np
import pytest

from tests.golden import functions

STORED = json.loads(
    pathlib.Path(functions.__file__).with_suffix(".json").read_text(encoding="utf-8")
)


def test_every_case_is_stored():
    assert list(STORED) == list(functions.CASES)


@pytest.mark.parametrize("name", functions.CASES)
def test_function(torch, device, name):
    got, stored = functions.results(torch, name, device), STORED[name]
    for part in "output", "places":
        if stored[part] is None:
            continue
        assert got[part]["shape"] == stored[part]["shape"]
        for what in "start", "sum":
            np.testing.assert_allclose(got[part][what], stored[part][what], rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(got["first"], stored["first"], rtol=1e-6, atol=1e-8)
    assert got["second"] is not None
    if stored["second"] is not None:
        np.testing.assert_allclose(got["second"], stored["second"], rtol=1e-6, atol=1e-8)
