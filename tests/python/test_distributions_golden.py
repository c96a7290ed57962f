"""Distributions and transforms against PyTorch's stored values: moments, densities with gradients,
quantiles, divergences, Jacobians (tests/golden/make.py made them)."""

import json
import pathlib

import numpy as np
import pytest

from tests.golden import distributions, transforms


def stored(part):
    return json.loads(pathlib.Path(part.__file__).with_suffix(".json").read_text(encoding="utf-8"))


DISTRIBUTIONS, TRANSFORMS = stored(distributions), stored(transforms)


def test_every_case_is_stored():
    assert list(DISTRIBUTIONS) == list(distributions.CASES)
    assert list(TRANSFORMS) == list(transforms.CASES)


# PyTorch's Bessel functions have six digits; test_von_mises has the exact values.
ROUGHLY = {"VonMises": 1e-5}


def same(got, want, where):
    if isinstance(want, dict):
        assert list(got) == list(want), where
        for key in want:
            same(got[key], want[key], f"{where}: {key}")
    elif isinstance(want, list) and not all(isinstance(v, float) for v in want):
        assert len(got) == len(want), where
        for mine, theirs in zip(got, want):
            same(mine, theirs, where)
    elif isinstance(want, (float, list)):
        rtol = ROUGHLY.get(where.split()[0], 1e-7)
        np.testing.assert_allclose(got, want, err_msg=where, rtol=rtol, atol=1e-9)
    else:
        assert got == want, where


@pytest.mark.parametrize("name", distributions.CASES)
def test_distribution(torch, device, name):
    same(distributions.results(torch, name, device), DISTRIBUTIONS[name], name)


@pytest.mark.parametrize("name", transforms.CASES)
def test_transform(torch, device, name):
    same(transforms.results(torch, name, device), TRANSFORMS[name], name)
