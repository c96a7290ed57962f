"""torch.signal.windows against the formulas, and its errors."""

import inspect

import flambeau as torch
import numpy as np
import pytest
from flambeau.signal import windows


def cosines(*a):
    def made(n):
        turns = 2 * np.pi * np.arange(n) / (n - 1)
        return sum((-1) ** k * factor * np.cos(k * turns) for k, factor in enumerate(a))

    return made


def centred(f):
    return lambda n: f(np.arange(n) - (n - 1) / 2)


FORMULAS = {
    "bartlett": (np.bartlett, {}),
    "blackman": (np.blackman, {}),
    "cosine": (lambda n: np.sin(np.pi * (np.arange(n) + 0.5) / n), {}),
    "exponential": (centred(lambda k: np.exp(-np.abs(k) / 2.5)), dict(tau=2.5)),
    "gaussian": (centred(lambda k: np.exp(-((k / 1.5) ** 2) / 2)), dict(std=1.5)),
    "general_cosine": (cosines(0.5, 0.3, 0.2), dict(a=[0.5, 0.3, 0.2])),
    "general_hamming": (cosines(0.6, 0.4), dict(alpha=0.6)),
    "hamming": (np.hamming, {}),
    "hann": (np.hanning, {}),
    "kaiser": (lambda n: np.kaiser(n, 14), dict(beta=14)),
    "nuttall": (cosines(0.3635819, 0.4891775, 0.1365995, 0.0106411), {}),
}


@pytest.mark.parametrize("name", windows.__all__)
def test_windows(name):
    formula, options = FORMULAS[name]
    f = getattr(torch.signal.windows, name)
    for n in (2, 3, 8):
        for sym in (True, False):
            wanted = formula(n + (not sym))[:n]
            for dtype in (torch.float32, torch.float64):
                made = f(n, sym=sym, dtype=dtype, **options)
                assert made.dtype is dtype
                np.testing.assert_allclose(made, wanted, rtol=1e-6, atol=1e-7)
    assert f(6, **options).equal(f(6, sym=True, **options))
    assert f(1, **options).tolist() == [1.0] and f(0, **options).shape == (0,)
    assert f(3, requires_grad=True, **options).requires_grad
    assert inspect.signature(f).parameters["sym"].default is True
    with pytest.raises(ValueError, match="non-negative"):
        f(-1, **options)
    for dtype in (torch.int64, torch.float16):
        with pytest.raises(ValueError, match="expects float32 or float64"):
            f(4, dtype=dtype, **options)
    for wrong in ((4.0,), (True,), (4, False), ()):
        with pytest.raises(TypeError):
            f(*wrong, **options)


@pytest.mark.parametrize(
    ("name", "options", "text"),
    [
        ("exponential", dict(tau=0.0), "tau must be positive"),
        ("exponential", dict(center=2.0), "center must be none"),
        ("gaussian", dict(std=-1), "std must be positive"),
        ("general_cosine", dict(a=[]), "cannot be empty"),
        ("kaiser", dict(beta=-1), "non-negative"),
    ],
)
def test_options_out_of_range(name, options, text):
    with pytest.raises(ValueError, match=text):
        getattr(windows, name)(5, **options)


def test_a_window_may_have_its_top_elsewhere():
    made = windows.exponential(4, center=1, sym=False, dtype=torch.float64)
    np.testing.assert_allclose(made, np.exp([-1.0, 0.0, -1.0, -2.0]))
    with pytest.raises(TypeError, match="list/tuple"):
        windows.general_cosine(4, a=1.0)


def test_coefficients_come_from_anything_that_has_them(torch):
    windows = torch.signal.windows
    given = windows.general_cosine(5, a=(factor for factor in (0.5, 0.5)))
    assert given.tolist() == windows.general_cosine(5, a=[0.5, 0.5]).tolist()
