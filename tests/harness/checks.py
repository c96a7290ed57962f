"""What is derived from each row about values, layouts and errors. A check takes the row and the
device; it raises AssertionError.
"""

import re

import flambeau
import numpy as np
import pytest

from . import binding, laws, ledger, numeric
from .cases import Case, cases, changes_operand, first_case, function, in_place, results, same
from .table import Operand

REFUSED = (RuntimeError, TypeError, ValueError, IndexError)


def forward(row, device, dtype):
    for case in cases(row, dtype):
        got = results(case.call(case.on(device), device))
        if row.law:
            laws.check(case, got, device)
            continue
        with np.errstate(all="ignore"):
            want = results(row.ref(*case.arrays, **case.options))
        assert len(got) == len(want), f"{case.what}: {len(got)} results, expected {len(want)}"
        for g, w in zip(got, want):
            as_expected(case, g, w, device)


def as_expected(case, got, want, device):
    row = case.row
    if not isinstance(got, flambeau.Tensor):
        assert got == want, f"{case.what}: {got}, expected {want}"
        return
    expected = row.result(case.dtype) if row.result else case.dtype
    index = got.dtype == flambeau.int64 and np.asarray(want).dtype.kind == "i"
    assert index or binding.dtype_name(got) == expected, (
        f"{case.what}: dtype {got.dtype}, expected {expected}"
    )
    assert str(got.device) == device, f"{case.what}: on {got.device}, expected {device}"
    dtype = binding.dtype_name(got)
    numeric.assert_close(got, want, dtype, row.ulp, row.absolute(dtype), case.what)


def strided(t):
    """The same values with gaps and in another order of dimensions."""
    if t.dim() == 0:
        return t
    wide = flambeau.zeros([*reversed(t.shape), 2], dtype=t.dtype, device=t.device)
    view = wide.select(-1, 1).permute(*reversed(range(t.dim())))
    return view.copy_(t)


def expanded(t):
    """One slice of it for all, with stride 0."""
    if t.numel() < 2 or t.dim() == 0:
        return t
    return t.narrow(0, 0, 1).expand(*t.shape)


def layouts(row, device):
    refused = 0
    for case in cases(row, row.dtypes[0]):
        ts = case.on(device)
        try:
            got = case.call([strided(t) for t in ts], device)
        except RuntimeError as e:
            assert row.strided and row.strided in str(e), f"{case.what} of strided operands: {e}"
            refused += 1
            continue
        agree(case, got, case.call(ts, device), "of strided operands")
        repeated = [t if o.dtype else expanded(t) for t, o in zip(ts, case.sample)]
        if row.strided is None:
            dense = [
                flambeau.empty(t.shape, dtype=t.dtype, device=t.device).copy_(t) for t in repeated
            ]
            agree(case, case.call(repeated, device), case.call(dense, device), "of stride 0")
    assert bool(refused) == bool(row.strided), f"{row.name}: never refuses strides"


def agree(case, got, want, what):
    """Exactly where each element is one computation; terms may be added in another order."""
    what = f"{case.what} {what}"
    if case.row.elementwise:
        return same(got, want, what)
    for g, w in zip(results(got), results(want), strict=True):
        if isinstance(g, flambeau.Tensor):
            dtype = binding.dtype_name(g)
            numeric.assert_close(g, binding.array(w), dtype, 4, case.row.absolute(dtype), what)
        else:
            assert g == w, what


def in_its_place(row, device):
    if in_place(row) is None:
        return
    done = 0
    for case in cases(row, row.dtypes[0]):
        ts = case.on(device)
        want = case.call(ts, device)
        target = ts[0].clone()
        if tuple(want.shape) != tuple(target.shape) and not changes_operand(row):
            with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
                case.call_in_place([target, *ts[1:]], device)
            same(target, ts[0], f"{case.what}: refused, and the target changed")
            continue
        returned = case.call_in_place([target, *ts[1:]], device)
        assert returned is target or returned.data_ptr() == target.data_ptr(), (
            f"{case.what}: not in place"
        )
        values = binding.array(target).astype(np.float64)
        np.testing.assert_array_equal(
            values, binding.array(want).astype(np.float64), err_msg=case.what + " in place"
        )
        done += 1
    assert done, f"{row.name}: no sample whose result fits in place"


def aliased(row, device):
    """The same tensor as every operand, and as the destination."""
    case = first_case(row)
    if not case.tensors or changes_operand(row):
        return
    if len(set(case.dtypes)) != 1 or len({tuple(t.shape) for t in case.tensors}) != 1:
        return
    t = case.on(device)[0]
    copies = [t.clone() for _ in case.tensors]
    want = case.call(copies, device)
    all_one = [t] * len(copies)
    same(case.call(all_one, device), want, f"{case.what} with one tensor as all operands")
    fits = isinstance(want, flambeau.Tensor) and want.dtype == t.dtype
    if binding.has_out(row.name) and fits and tuple(want.shape) == tuple(t.shape):
        target = t.clone()
        case.call([target] * len(copies), device, out=target)
        same(target, want, f"{case.what} with its operand as out")


def out(row, device):
    if not binding.has_out(row.name) or row.call:
        return
    for case in cases(row, row.dtypes[0]):
        ts = case.on(device)
        want = case.call(ts, device)
        target = flambeau.zeros(list(want.shape), dtype=want.dtype, device=want.device)
        assert case.call(ts, device, out=target) is target, (
            f"{case.what}: out= returns another tensor"
        )
        same(target, want, f"{case.what} with out=")
        small = flambeau.zeros([1, 1, 1, 1, 2], dtype=want.dtype, device=want.device)
        case.call(ts, device, out=small)
        same(small, want, f"{case.what} with an out= of another shape")


def wrong_dtypes(row, device):
    for dtype, text in row.bad.items():
        case = Case(row, row.samples[0], row.options[0], dtype)
        with pytest.raises((RuntimeError, TypeError), match=text) as found:
            case.call(case.on(device), device)
        names_the_call(found.value)


def names_the_call(problem):
    """What the library refuses it says with the call, once: the op's, or that of one which it is
    made of."""
    if isinstance(problem, flambeau.Error):
        assert re.search(r"\n  [\w.]+\(\w+: .*\)", str(problem)), problem
        assert len(re.findall(r"\w\((\w+: )?\w+\[[\d, ]*\] on ", str(problem))) <= 1, problem


def wrong_device(row, other):
    """Each operand but the first on another device, in the sample that has the most of them."""
    if row.crosses:
        return
    case = max((Case(row, s, row.options[0], row.dtypes[0]) for s in row.samples), key=operands)
    text = "(?s)Expected all tensors to be on the same device.*" + row.name.split("_")[0]
    for i in range(1, operands(case)):
        if case.tensors[i].dim() == 0:
            continue
        ts = list(case.tensors)
        ts[i] = ts[i].to(other)
        with pytest.raises(RuntimeError, match=text):
            case.call(ts, "cpu")
            pytest.fail(f"{case.what}: operand {i} was taken from {other}")


def operands(case):
    return len(case.tensors)


def refusals(row, device):
    """The row's own list of calls that fail; they leave every operand as it was."""
    listed = row.refuses + (row.refuses_values if device == "cpu" else [])
    for sample, options, text in listed:
        case = Case(row, sample, options, row.dtypes[0])
        for form in (function(row), in_place(row)):
            if form is None:
                continue
            ts = case.on(device)
            with pytest.raises(REFUSED, match=text) as found:
                form(*ts, **case.keywords(device))
                pytest.fail(f"{case.what} did not fail")
            names_the_call(found.value)
            for t, kept in zip(ts, case.tensors):
                same(t.cpu(), kept, f"{case.what}: refused, and an operand changed")


def wrong_shape(row, device):
    if not row.elementwise or len(row.samples[0]) < 2:
        return
    first, second, *rest = row.samples[0]
    bad = (
        Operand((2, 3), first.low, first.high, first.dtype, first.values),
        Operand((2, 4), second.low, second.high, second.dtype, second.values),
        *rest,
    )
    case = Case(row, bad, row.options[0], row.dtypes[0])
    if row.name == "equal":
        assert case.call(case.on(device), device) is False
        return
    with pytest.raises(
        (RuntimeError, ValueError), match=r"(do not broadcast|same size|same as|batch_size|size)"
    ):
        case.call(case.on(device), device)


def missing(tables):
    """Ops of the ABI without a row, and rows of no op."""
    plain = set(ledger.ops())
    return sorted(plain - set(tables)), sorted(set(tables) - plain)
