"""Random results by their distribution: how far from a law a sample of its size may be, and what
a seed fixes. Seeds are fixed, so that a test of one build always says the same.
"""

import flambeau
import numpy as np

from . import binding, ledger
from .cases import SEED, same, tensors_of

# The sample's distance from a continuous law, times the root of its size, is above this once in
# 10^6 (Kolmogorov), and a standardised sum is above 5 as seldom.
FURTHEST = 2.7
RANDOM_ENOUGH = 8  # elements that do not all come out alike twice


def check(case, got, device):
    """The law itself; the same numbers from the same seed, others without, and a generator's."""
    again = case.call(case.on(device), device)
    same(again, got, f"{case.what}: another result from the same seed")
    case.row.law(*[binding.array(t) for t in tensors_of(got)], *case.arrays, **case.options)
    for t in tensors_of(got):
        assert str(t.device) == device
    if "generator" in ledger.names(ledger.ops()[case.row.name]):
        generator = flambeau.Generator(device)
        generator.manual_seed(SEED)
        own = case.call(case.on(device), device, generator=generator)
        same(own, got, f"{case.what}: a generator of the same seed gives other numbers")
        drawn = case.call(case.on(device), device, generator=generator)
        if any(varied(t) for t in tensors_of(got)):
            assert differ(drawn, got), f"{case.what}: a generator repeats itself"


def varied(t):
    return t.numel() > RANDOM_ENOUGH and len(np.unique(binding.array(t))) > 1


def differ(a, b):
    return any(
        not np.array_equal(binding.array(s), binding.array(t))
        for s, t in zip(tensors_of(a), tensors_of(b))
    )


def follows(values, cdf):
    """Values of a continuous law, and neighbours that know nothing of each other."""
    u = np.sort(cdf(values.ravel()))
    n = u.size
    if n == 0:
        return
    steps = np.arange(n + 1) / n
    distance = max(np.max(steps[1:] - u), np.max(u - steps[:-1]))
    assert distance * np.sqrt(n) < FURTHEST, f"{n} values are {distance} from their law"
    independent(cdf(values.ravel()) - 0.5, 1 / 12)


def independent(centred, variance):
    n = centred.size - 1
    if n < 100:
        return
    z = (centred[:-1] * centred[1:]).sum() / variance / np.sqrt(n)
    assert abs(z) < 5, f"neighbours depend on each other: {z} standard deviations"


def counted(values, probabilities):
    """Whole numbers from 0 on, each as often as its probability says."""
    values = values.ravel()
    assert np.array_equal(values, np.round(values)), "not whole numbers"
    counts = np.bincount(values.astype(np.int64), minlength=len(probabilities))
    assert len(counts) == len(probabilities), f"a value of {len(counts) - 1}"
    p = np.asarray(probabilities, float)
    spread = np.sqrt(values.size * p * (1 - p))
    far = np.abs(counts - values.size * p) > 5 * spread
    assert not far.any(), f"{counts} of {values.size}, expected {values.size * p}"
