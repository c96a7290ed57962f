"""What differs between two outcomes of one call. Every difference has a kind, by which the report
counts and `differences.py` names it. Strides count where a dimension has more than one element.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tests.harness.table import EPS, SMALLEST

from .library import Outcome, Seen

KINDS = (
    *("value", "dtype", "shape", "stride", "memory", "history", "result"),
    *("gradient", "second backward"),
    *("base", "version", "operand"),  # what a view is of, what was written to, what stands there
    *("error type", "only PyTorch raises", "only flambeau raises", "name", "crash"),
)
SLOPE = {"float64": 1e-8, "float32": 2e-4, "float16": 2e-2, "bfloat16": 1e-1}


@dataclass(frozen=True)
class Difference:
    row: str
    kind: str
    text: str


@dataclass(frozen=True)
class Tolerance:
    """Units in the last place of the result's dtype, and absolute by dtype."""

    ulp: float
    absolute: object
    values: bool = True  # False: results are random
    precision: str = "float64"  # the least precise dtype that computes, whatever the result's is

    def near(self, got, want, dtype):
        if dtype in EPS:
            dtype = max(dtype, self.precision, key=EPS.get)
        return close(got, want, dtype, 2 * self.ulp + 2, 2 * self.absolute(dtype))


def close(got, want, dtype, ulp, atol):
    if dtype not in EPS:
        return np.array_equal(got, want)
    scale = np.maximum(np.abs(np.where(np.isfinite(want), want, 0)), SMALLEST[dtype])
    with np.errstate(invalid="ignore"):
        near = np.abs(got - want) <= ulp * EPS[dtype] * scale + atol
    return bool((near | (got == want) | (np.isnan(got) & np.isnan(want))).all())


def shown(seen):
    return f"{seen.dtype}{list(seen.shape)}"


def strides_that_count(seen):
    if 0 in seen.shape:
        return ()
    return tuple(s for s, n in zip(seen.stride, seen.shape) if n > 1)


def of_tensors(ours, theirs, tolerance):
    if ours.dtype != theirs.dtype:
        yield "dtype", f"{ours.dtype}, PyTorch {theirs.dtype}"
    if ours.shape != theirs.shape:
        yield "shape", f"{list(ours.shape)}, PyTorch {list(theirs.shape)}"
        return
    if strides_that_count(ours) != strides_that_count(theirs):
        yield "stride", f"{ours.stride}, PyTorch {theirs.stride}"
    if ours.values.size and ours.shares != theirs.shares:
        yield "memory", f"of operands {ours.shares}, PyTorch {theirs.shares}"
    if ours.base != theirs.base:
        yield "base", f"{ours.base}, PyTorch {theirs.base}"
    if ours.history != theirs.history:
        yield "history", f"requires_grad {ours.history}, PyTorch {theirs.history}"
    if tolerance.values and ours.dtype == theirs.dtype:
        if not tolerance.near(ours.values, theirs.values, ours.dtype):
            yield "value", furthest(ours.values, theirs.values)


def furthest(ours, theirs):
    with np.errstate(invalid="ignore"):
        away = np.abs(ours.astype(float) - theirs.astype(float))
    at = np.unravel_index(np.argmax(np.where(np.isnan(away), np.inf, away)), away.shape)
    return f"{ours[at]!r} at {tuple(map(int, at))}, PyTorch {theirs[at]!r}"


def of_results(ours, theirs, tolerance):
    if isinstance(ours, Seen) and isinstance(theirs, Seen):
        yield from of_tensors(ours, theirs, tolerance)
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for o, t in zip(ours, theirs):
            yield from of_results(o, t, tolerance)
    elif type(ours).__name__ != type(theirs).__name__ or isinstance(ours, (list, Seen)):
        yield "result", f"{type(ours).__name__} {brief(ours)}, PyTorch {brief(theirs)}"
    elif tolerance.values and not (ours == theirs or (ours != ours and theirs != theirs)):
        yield "value", f"{brief(ours)}, PyTorch {brief(theirs)}"


def of_operands(ours, theirs, tolerance):
    """Which operands were written to, and what they hold since."""
    for i in sorted({*ours, *theirs}):
        if (i in ours) != (i in theirs):
            what = "as it was" if i in theirs else "counts another version"
            yield "version", f"operand {i} {what}, PyTorch not so"
        elif any(True for _ in of_tensors(ours[i], theirs[i], tolerance)):
            found = "; ".join(
                f"{k} {text}" for k, text in of_tensors(ours[i], theirs[i], tolerance)
            )
            yield "operand", f"operand {i}: {found}"


def brief(value):
    if isinstance(value, Seen):
        return shown(value)
    if isinstance(value, list):
        return f"{len(value)} of [{brief(value[0]) if value else ''}]"
    return repr(value)[:300]


def of_gradients(ours, theirs, tolerance):
    for i, (o, t) in enumerate(zip(ours, theirs)):
        if (o is None) != (t is None):
            yield "gradient", f"of operand {i}: {'none' if o is None else 'some'}, PyTorch not so"
        elif o is not None:
            if (o.dtype, o.shape) != (t.dtype, t.shape):
                yield "gradient", f"of operand {i}: {shown(o)}, PyTorch {shown(t)}"
            elif tolerance.values and not slopes_agree(o, t):
                yield "gradient", f"of operand {i}: {furthest(o.values, t.values)}"


def slopes_agree(ours, theirs):
    bound = SLOPE[ours.dtype]
    largest = np.max(np.abs(theirs.values), initial=1e-3, where=np.isfinite(theirs.values))
    return close(ours.values, theirs.values, ours.dtype, bound / EPS[ours.dtype], bound * largest)


def of_errors(ours, theirs):
    if ours and theirs:
        if ours.stage != theirs.stage:
            yield "error type", f"in {ours.stage} ({ours.text}), PyTorch {theirs.stage}"
        elif theirs.classes[0] not in ours.classes:
            where = "in backward: " if ours.stage == "backward" else ""
            both = f"{ours.classes[0]} ({ours.text}), PyTorch {theirs.classes[0]} ({theirs.text})"
            yield "error type", where + both
    elif theirs:
        yield "only PyTorch raises", f"in {theirs.stage}: {theirs.classes[0]}: {theirs.text}"
    elif ours:
        yield "only flambeau raises", f"in {ours.stage}: {ours.classes[0]}: {ours.text}"


def differences(ours: Outcome, theirs: Outcome, tolerance: Tolerance):
    """(kind, text) of all that differs."""
    yield from of_errors(ours.raised, theirs.raised)
    if not (ours.raised or theirs.raised):
        found = list(of_results(ours.results, theirs.results, tolerance))
        yield from found
        yield from of_operands(ours.written, theirs.written, tolerance)
        if "shape" not in [kind for kind, _ in found]:  # else they are of other sums
            yield from of_gradients(ours.gradients, theirs.gradients, tolerance)
        if ours.again and theirs.again and ours.again != theirs.again:
            yield "second backward", f"agrees, and a third {ours.again}, PyTorch {theirs.again}"
