"""What is derived from each row. A check takes the row and the device; it raises AssertionError."""

import zlib

import flambeau
import numpy as np
import pytest

from . import binding, numeric
from .table import FLOATS, Operand


class Case:
    """One call: operands as NumPy arrays in the values that the dtype has, and options."""

    def __init__(self, row, sample, options, dtype):
        rng = np.random.default_rng(zlib.crc32(f"{row.name}{sample}{options}".encode()))
        self.row, self.options, self.dtype = row, options, dtype
        self.dtypes = [o.dtype or dtype for o in sample]
        self.tensors = [binding.tensor(o.draw(rng, dtype), d) for o, d in zip(sample, self.dtypes)]
        self.arrays = [binding.array(t) for t in self.tensors]
        self.differentiable = [o.grad and d in FLOATS for o, d in zip(sample, self.dtypes)]
        shown = [f"{d}{list(t.shape)}" for d, t in zip(self.dtypes, self.tensors)]
        self.what = (
            f"{row.name}({', '.join(shown)}{''.join(f', {k}={v}' for k, v in options.items())})"
        )

    def on(self, device):
        return [t.to(device) for t in self.tensors]


def call_of(row):
    return row.call or binding.function(row.name)


def samples(row):
    yield from row.samples
    if row.elementwise:
        first = row.samples[0]
        for shape in ((), (0, 3)):
            yield tuple(Operand(shape, o.low, o.high, o.dtype, o.values, o.grad) for o in first)
        if len(first) > 1:
            shapes = ((3, 1, 2), (1, 4, 1), (2,))
            yield tuple(
                Operand(shapes[i % 3], o.low, o.high, o.dtype, o.values, o.grad)
                for i, o in enumerate(first)
            )


def cases(row, dtype):
    for sample in samples(row):
        for options in row.options:
            yield Case(row, sample, options, dtype)


def results(value):
    return list(value) if isinstance(value, (tuple, list)) else [value]


def forward(row, device, dtype):
    call = call_of(row)
    for case in cases(row, dtype):
        with np.errstate(all="ignore"):
            want = results(row.ref(*case.arrays, **case.options))
        got = results(call(*case.on(device), **case.options))
        assert len(got) == len(want), f"{case.what}: {len(got)} results, expected {len(want)}"
        for g, w in zip(got, want):
            if not isinstance(g, flambeau.Tensor):
                assert g == w, f"{case.what}: {g}, expected {w}"
                continue
            expected = row.result(dtype) if row.result else dtype
            index = g.dtype == flambeau.int64 and np.asarray(w).dtype.kind == "i"
            assert index or binding.dtype_name(g) == expected, (
                f"{case.what}: dtype {g.dtype}, expected {expected}"
            )
            numeric.assert_close(g, w, binding.dtype_name(g), row.ulp, row.atol, case.what)


def strided(t):
    """The same values with gaps and in another order of dimensions."""
    if t.dim() == 0:
        return t
    wide = flambeau.zeros([*reversed(t.shape), 2], dtype=t.dtype, device=t.device)
    view = wide.select(-1, 1).permute(*reversed(range(t.dim())))
    return view.copy_(t)


def same(got, want, what):
    for g, w in zip(results(got), results(want)):
        if isinstance(g, flambeau.Tensor):
            assert g.dtype == w.dtype and tuple(g.shape) == tuple(w.shape), (
                f"{what}: {g.dtype} {tuple(g.shape)}"
            )
            np.testing.assert_array_equal(binding.array(g), binding.array(w), err_msg=what)
        else:
            assert g == w, what


def layouts(row, device):
    dtype = row.dtypes[0]
    call = call_of(row)
    for case in cases(row, dtype):
        ts = case.on(device)
        got, want = call(*[strided(t) for t in ts], **case.options), call(*ts, **case.options)
        if row.elementwise:
            same(got, want, f"{case.what} of strided operands")
            continue
        for g, w in zip(results(got), results(want)):  # terms may be added in another order
            if isinstance(g, flambeau.Tensor):
                numeric.assert_close(
                    g,
                    binding.array(w),
                    binding.dtype_name(g),
                    4,
                    row.atol,
                    f"{case.what} of strided operands",
                )


def in_place(row, device):
    method = binding.inplace(row.name)
    if method is None:
        return
    call = call_of(row)
    done = 0
    for case in cases(row, row.dtypes[0]):
        ts = case.on(device)
        want = call(*ts, **case.options)
        if tuple(want.shape) != tuple(ts[0].shape):
            with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
                method(ts[0].clone(), *ts[1:], **case.options)
            continue
        target = ts[0].clone()
        returned = method(target, *ts[1:], **case.options)
        assert returned is target or returned.data_ptr() == target.data_ptr(), (
            f"{case.what}: not in place"
        )
        np.testing.assert_array_equal(
            binding.array(target).astype(np.float64),
            binding.array(want).astype(np.float64),
            err_msg=case.what + " in place",
        )
        done += 1
    assert done, f"{row.name}: no sample whose result fits in place"


def in_place_gradient(row):
    """An in-place op on a tensor with a history has the plain op's gradient."""
    method = binding.inplace(row.name)
    if method is None or not row.grad:
        return
    call = call_of(row)
    for case in cases(row, "float64"):
        grads = []
        for in_its_place in (False, True):
            leaves = [
                t.clone().requires_grad_() if d else t
                for t, d in zip(case.tensors, case.differentiable)
            ]
            first = leaves[0] * 1.0
            wanted = [t for t, d in zip(leaves, case.differentiable) if d]
            if tuple(call(first, *leaves[1:], **case.options).shape) != tuple(first.shape):
                break
            y = (
                method(first, *leaves[1:], **case.options)
                if in_its_place
                else call(first, *leaves[1:], **case.options)
            )
            grads.append(flambeau.autograd.grad(numeric.weighted_sum(y, 1), wanted))
        if len(grads) == 2:
            same(grads[1], grads[0], f"{case.what}: gradient in place")


def aliased(row, device):
    """The same tensor as every operand, and as the destination."""
    call = call_of(row)
    case = next(cases(row, row.dtypes[0]))
    if len(set(case.dtypes)) != 1 or len({tuple(t.shape) for t in case.tensors}) != 1:
        return
    t = case.on(device)[0]
    copies = [t.clone() for _ in case.tensors]
    want = call(*copies, **case.options)
    same(
        call(*[t] * len(copies), **case.options),
        want,
        f"{case.what} with one tensor as all operands",
    )
    if (
        binding.has_out(row.name)
        and isinstance(want, flambeau.Tensor)
        and want.dtype == t.dtype
        and tuple(want.shape) == tuple(t.shape)
    ):
        target = t.clone()
        call(*[target] * len(copies), **case.options, out=target)
        same(target, want, f"{case.what} with its operand as out")


def out(row, device):
    if not binding.has_out(row.name) or row.call:
        return
    call = call_of(row)
    for case in cases(row, row.dtypes[0]):
        ts = case.on(device)
        want = call(*ts, **case.options)
        target = flambeau.zeros(list(want.shape), dtype=want.dtype, device=want.device)
        assert call(*ts, **case.options, out=target) is target, (
            f"{case.what}: out= returns another tensor"
        )
        same(target, want, f"{case.what} with out=")
        small = flambeau.zeros([1, 1, 1, 1, 2], dtype=want.dtype, device=want.device)
        call(*ts, **case.options, out=small)
        same(small, want, f"{case.what} with an out= of another shape")


def wrong_dtypes(row, device):
    call = call_of(row)
    for dtype, text in row.bad.items():
        case = Case(row, row.samples[0], row.options[0], dtype)
        with pytest.raises((RuntimeError, TypeError), match=text):
            call(*case.on(device), **case.options)


def wrong_device(row, other):
    case = next(cases(row, row.dtypes[0]))
    if len(case.tensors) < 2 or case.tensors[1].dim() == 0:
        return
    ts = list(case.tensors)
    ts[1] = ts[1].to(other)
    with pytest.raises(
        RuntimeError,
        match="(?s)Expected all tensors to be on the same device.*" + row.name.split("_")[0],
    ):
        call_of(row)(*ts, **case.options)


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
        assert call_of(row)(*case.on(device)) is False
        return
    with pytest.raises(
        (RuntimeError, ValueError), match=r"(do not broadcast|same size|same as|batch_size|size)"
    ):
        call_of(row)(*case.on(device), **case.options)


def gradients(row):
    if not row.grad:
        return
    for case in cases(row, "float64"):
        if not any(case.differentiable):
            continue
        numeric.check_gradients(
            lambda *ts: call_of(row)(*ts, **case.options),
            case.arrays,
            case.differentiable,
            case.what,
            row.second,
        )


def threads(row):
    """Bitwise the same with one thread and with two, on operands large enough to be cut."""
    sample = row.samples[0]
    if not row.elementwise and not all(len(o.shape) for o in sample):
        return
    big = (
        tuple(Operand((300, 300), o.low, o.high, o.dtype, o.values, o.grad) for o in sample)
        if row.elementwise
        else sample
    )
    before = flambeau.get_num_threads()
    got = []
    try:
        for n in (1, 2):
            flambeau.set_num_threads(n)
            got.append(
                call_of(row)(
                    *Case(row, big, row.options[0], row.dtypes[0]).tensors, **row.options[0]
                )
            )
    finally:
        flambeau.set_num_threads(before)
    same(got[1], got[0], f"{row.name} with two threads")


def device_agrees(row, device):
    """Values and gradients on the device are the cpu's."""
    for case in cases(row, "float32" if "float32" in row.dtypes else row.dtypes[0]):
        found = []
        for d in ("cpu", device):
            ts = [t.to(d) for t in case.tensors]
            track = [
                t.requires_grad_() if g and row.grad else t for t, g in zip(ts, case.differentiable)
            ]
            y = call_of(row)(*track, **case.options)
            wanted = [t for t in track if t.requires_grad]
            grads = flambeau.autograd.grad(numeric.weighted_sum(y, 1), wanted) if wanted else []
            found.append((results(y), grads))
        for host, other in zip(*[v + list(g) for v, g in found]):
            if isinstance(host, flambeau.Tensor):
                numeric.assert_close(
                    other,
                    binding.array(host),
                    binding.dtype_name(host),
                    2 * row.ulp + 2,
                    row.atol + 1e-6,
                    f"{case.what} on {device}",
                )
            else:
                assert host == other, f"{case.what} on {device}"


def missing(tables, exempt):
    """Ops of the ABI without a row and without a named exemption."""
    known = binding.functions()
    plain = {n for n, f in known.items() if not f["form"]}
    stale = set(exempt) & set(tables)
    assert not stale, f"exempt and in the table: {sorted(stale)}"
    return sorted(plain - set(tables) - set(exempt)), sorted(set(tables) - plain)
