"""Comparing with float64 and differentiating by differences."""

import zlib

import flambeau
import numpy as np

from . import binding
from .table import EPS, SMALLEST

MOST_DIFFERENCES = 128


def assert_close(got, want, dtype, ulp, atol=0.0, what=""):
    """Within `ulp` units in the last place of the float64 value; integers and bool exactly."""
    want = np.asarray(want)
    values = binding.array(got)
    assert values.shape == want.shape, f"{what}: shape {values.shape}, expected {want.shape}"
    if dtype not in EPS:
        np.testing.assert_array_equal(values, want.astype(values.dtype), err_msg=what)
        return
    want = want.astype(np.float64)
    greatest = {"float16": 65504.0, "float32": np.finfo(np.float32).max}.get(dtype, np.inf)
    if dtype == "float16":
        want = np.where(np.abs(want) >= 65520.0, np.copysign(np.inf, want), want)
    scale = np.maximum(np.abs(np.where(np.isfinite(want), want, greatest)), SMALLEST[dtype])
    with np.errstate(invalid="ignore"):
        wrong = np.abs(values - want) > ulp * EPS[dtype] * scale + atol
    wrong |= np.isnan(values) != np.isnan(want)
    wrong &= ~((values == want) | (np.isnan(values) & np.isnan(want)))
    if wrong.any():
        at = np.unravel_index(np.argmax(wrong), wrong.shape)
        raise AssertionError(
            f"{what}: {values[at]!r} at {at}, expected {want[at]!r} within {ulp} ULP of {dtype}; "
            f"{wrong.sum()} of {wrong.size} are wrong"
        )


def outputs(result):
    """The floating tensors of a result."""
    many = result if isinstance(result, (tuple, list)) else (result,)
    return [t for t in many if isinstance(t, flambeau.Tensor) and t.is_floating_point()]


def weighted_sum(result, seed):
    """A scalar that every element of the result counts in, differently."""
    rng = np.random.default_rng(seed)
    total = None
    for t in outputs(result):
        weights = binding.tensor(
            rng.uniform(0.5, 1.5, tuple(t.shape)), binding.dtype_name(t), t.device
        )
        term = (t * weights).sum()
        total = term if total is None else total + term
    return total


def tried(size, what):
    """Which elements differences are taken at: of many, the ends and some between, the same in
    every run and others in every case."""
    if size <= MOST_DIFFERENCES:
        return np.arange(size)
    rng = np.random.default_rng(zlib.crc32(what.encode()))
    between = 1 + rng.choice(size - 2, MOST_DIFFERENCES - 2, replace=False)
    return np.sort(np.concatenate([[0, size - 1], between]))


def slopes(f, xs, i, places, step):
    """d f / d xs[i] by central differences at `places`, f taking and returning float64."""
    found = []
    for at in places:
        sides = []
        for sign in (1, -1):
            moved = [a.copy() for a in xs]
            moved[i].reshape(-1)[at] += sign * step
            sides.append(f(moved))
        found.append((sides[0] - sides[1]) / (2 * step))
    return np.array(found)


def assert_gradient(got, want, what, tolerance):
    error = np.abs(got - want)
    bound = tolerance * (1.0 + np.abs(want))
    if not (error <= bound).all():
        at = np.unravel_index(np.argmax(error - bound), error.shape)
        raise AssertionError(f"{what}: {got[at]!r} at {at}, differences say {want[at]!r}")


def assert_slopes(got, f, xs, i, what, tolerance):
    """The gradient `got` of operand i beside differences."""
    assert got.shape == xs[i].shape, f"{what}: shape {got.shape}, expected {xs[i].shape}"
    places = tried(got.size, what)
    assert_gradient(got.reshape(-1)[places], slopes(f, xs, i, places, 1e-6), what, tolerance)


def check_gradients(call, xs, differentiable, what, second):
    """Slopes of call(*xs) in float64, both ways that backward can run; then second derivatives."""
    xs = [np.asarray(a) for a in xs]

    def leaves(arrays):
        return [
            binding.tensor(a, "float64", requires_grad=True) if d else binding.tensor(a, _dtype(a))
            for a, d in zip(arrays, differentiable)
        ]

    def value(arrays):
        return float(binding.array(weighted_sum(call(*leaves(arrays)), 1)))

    def gradients(arrays, create_graph):
        ts = leaves(arrays)
        wanted = [t for t, d in zip(ts, differentiable) if d]
        got = flambeau.autograd.grad(weighted_sum(call(*ts), 1), wanted, create_graph=create_graph)
        return wanted, list(got)

    where = [i for i, d in enumerate(differentiable) if d]
    plain = [binding.array(g) for g in gradients(xs, False)[1]]
    graphed = [binding.array(g) for g in gradients(xs, True)[1]]
    for i, got, again in zip(where, plain, graphed):
        assert_slopes(got, value, xs, i, f"{what}: gradient of operand {i}", 1e-6)
        assert_gradient(again, got, f"{what}: gradient of operand {i} with create_graph", 1e-9)
    if not second:
        return

    def slope(arrays):
        return sum(float(binding.array(weighted_sum(g, 2))) for g in gradients(arrays, False)[1])

    wanted, first = gradients(xs, True)
    total = None
    for g in first:
        term = weighted_sum(g, 2)
        total = term if total is None else total + term
    got = [None] * len(wanted)  # slopes that depend on no operand
    if total.requires_grad:
        got = flambeau.autograd.grad(total, wanted, allow_unused=True)
    for i, t, g in zip(where, wanted, got):
        values = np.zeros(xs[i].shape) if g is None else binding.array(g)
        assert_slopes(values, slope, xs, i, f"{what}: second derivative of operand {i}", 1e-5)


def _dtype(a):
    return {"f": "float64", "b": "bool"}.get(a.dtype.kind, "int64")
