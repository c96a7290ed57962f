"""The calls that a row of the op table stands for: each spelling, form, dtype and layout, and what
is wrong with a call in the ways that users get calls wrong.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from tests.harness import binding, ledger
from tests.harness.cases import Case, cases, changes_operand, samples
from tests.harness.table import ALL, EPS, FLOATS, Row, listed

from .compare import Tolerance

MIXED = (
    *(("float32", "float64"), ("float64", "float32"), ("float32", "int64"), ("int64", "float32")),
    *(("float16", "bfloat16"), ("float16", "float32"), ("uint8", "int8"), ("int32", "int64")),
    *(("bool", "int64"), ("float32", "bool"), ("bool", "float16"), ("int16", "uint8")),
)
LAYOUTS = ("gaps", "permuted", "channels last", "stride 0")


@dataclass
class Call:
    """`invoke(library, *operands)` on operands that `make(library)` makes."""

    row: str
    spelling: str
    what: str
    make: object
    invoke: object
    tolerance: Tolerance
    differentiable: tuple = ()
    precise: object = None  # make, with operands of float64 in the same values


def parameters(name):
    """The header's names of the operands and options, in order, and which are operands."""
    shown = ledger.parameters(ledger.ops()[name])
    return [p["name"] for p in shown], [p["name"] for p in shown if p["kind"] == "tensor"]


class Operands:
    """Makes the operands of a case in a library: their values, dtypes and layout."""

    def __init__(self, arrays, dtypes, layout, fixed):
        self.arrays, self.dtypes, self.layout, self.fixed = arrays, dtypes, layout, fixed

    def __call__(self, library):
        ts = [library.tensor(a, d) for a, d in zip(self.arrays, self.dtypes)]
        return [laid_out(library, t, self.layout, f) for t, f in zip(ts, self.fixed)]

    def precise(self, results_float):
        kinds = FLOATS if not results_float else ALL
        wide = ["float64" if d in kinds and not f else d for d, f in zip(self.dtypes, self.fixed)]
        return Operands(self.arrays, wide, self.layout, self.fixed)


def laid_out(library, t, layout, fixed):
    backwards = tuple(reversed(range(t.dim())))
    if t.dim() == 0 or layout == "dense":
        return t
    if layout == "gaps":
        wide = library.module.zeros([*reversed(t.shape), 2], dtype=t.dtype, device=t.device)
        return wide.select(-1, 1).permute(backwards).copy_(t)
    if layout == "permuted":
        return t.permute(backwards).contiguous().permute(backwards)
    if layout == "channels last":
        there = (0, *range(2, t.dim()), 1)
        back = (0, t.dim() - 1, *range(1, t.dim() - 1))
        return t.permute(there).contiguous().permute(back) if t.dim() > 2 else t
    if layout == "stride 0" and not fixed and t.numel() > 1:
        return t.narrow(0, 0, 1).expand(*t.shape)
    return t


class Form:
    """One way to say a row's call."""

    def __init__(self, row, spelling, keywords=False, changes=False, rename=()):
        self.row, self.spelling, self.keywords = row, spelling, keywords
        self.changes, self.rename = changes, dict(rename)

    @property
    def what(self):
        return self.spelling + " by keyword" * self.keywords

    def __call__(self, library, *operands, **options):
        if self.spelling == "call":
            f = library.call_of_row(self.row.call)
        else:
            f = library.find(self.spelling)
        if self.keywords:
            f = self._by_keyword(f)
        if self.row.arrange:
            return library.call_of_row(self.row.arrange)(f, *operands, **options)
        return f(*operands, **options)

    def _by_keyword(self, f):
        names = parameters(self.row.name)[0]
        keep = 1 if self.spelling.startswith("Tensor.") else 0
        return lambda *given, **options: f(
            *given[:keep], **dict(zip(names[keep:], given[keep:])), **options
        )


def forms(row):
    """Plain forms, then those that change an operand."""
    if row.call:
        return [Form(row, "call", changes=changes_operand(row))]
    listed = ledger.ops()[row.name]
    plain = [Form(row, s, changes=changes_operand(row)) for s in listed["torch"]]
    return plain + [Form(row, s, changes=True) for s in ledger.in_place(listed)]


def keyword_forms(row):
    """Operands by the header's names, for a function and for a method."""
    spellings = ledger.ops()[row.name]["torch"]
    if row.call or not spellings:
        return []
    kinds = {s.startswith("Tensor."): s for s in reversed(spellings)}
    unnamed = row.arrange is listed or "from" in parameters(row.name)[0]  # no keyword of Python's
    return [] if unnamed else [Form(row, s, keywords=True) for s in kinds.values()]


def bound(form, options, row, dtype, **more):
    """`form` with its options in the library's terms."""

    def invoke(library, *operands):
        named = {k: library.option(v) for k, v in options.items()} | more
        if row.creates:
            named |= {"dtype": library.dtype(dtype)}
            named |= {"device": library.device} if library.device != "cpu" else {}
        if form.changes and any(o.requires_grad for o in operands):
            operands = [o * 1 if o.requires_grad else o for o in operands]
            return [form(library, *operands, **named), operands]  # what was written to, too
        return form(library, *operands, **named)

    return invoke


def tolerance(row: Row, dtypes):
    least = max([d for d in dtypes if d in EPS] or ["float64"], key=EPS.get)
    return Tolerance(row.ulp, row.absolute, row.law is None, least)


def described(form, case, dtypes, layout):
    shown = [f"{d}{list(a.shape)}" for d, a in zip(dtypes, case.arrays)]
    shown += [f"{k}={v}" for k, v in case.options.items()]
    return f"{form.what}({', '.join(shown)})" + (f" {layout}" if layout != "dense" else "")


def call(form, case, layout="dense", gradient=True, dtypes=None):
    row = case.row
    dtypes = dtypes or case.dtypes
    fixed = [o.dtype for o in case.sample]
    make = Operands(case.arrays, dtypes, layout, fixed)
    slopes = tuple(case.tracked) if gradient else ()
    return Call(
        row.name,
        form.spelling,
        described(form, case, dtypes, layout),
        make,
        bound(form, case.options, row, case.dtype),
        tolerance(row, dtypes),
        slopes if any(slopes) else (),
        make.precise,
    )


def valid(row):
    """Each form with all samples in the first dtype; the first form with every dtype and layout."""
    every = forms(row)
    if not every:
        return
    for form in every + keyword_forms(row):
        for case in cases(row, row.dtypes[0]):
            yield call(form, case, gradient=not form.keywords)
    changing = [f for f in every if f.changes][:1]
    for form in {id(f): f for f in every[:1] + changing}.values():
        for dtype in ALL:
            if dtype == row.dtypes[0]:
                continue
            for case in cases(row, dtype):
                yield call(form, case)
        for case in cases(row, row.dtypes[0]):
            for layout in LAYOUTS:
                yield call(form, case, layout)


def on_a_device(row):
    """What may come out otherwise there than on the cpu, with gradients."""
    for form, case, layout in cases_on_a_device(row):
        yield call(form, case, layout)


def cases_on_a_device(row):
    """Every form in the dtypes that train, the first of them in another layout, too; rows that have
    none of these dtypes in their own first."""
    train = [d for d in ("float32", "float16", "bfloat16") if d in row.dtypes]
    for form in forms(row):
        for dtype in train or row.dtypes[:1]:
            for case in cases(row, dtype):
                yield form, case, "dense"
                if form.spelling == forms(row)[0].spelling and dtype == "float32":
                    yield form, case, "gaps"


def with_out(row):
    """out= of the right kind, of another shape, and of other dtypes."""
    if row.call or not binding.has_out(row.name):
        return
    spelling = next(s for s in ledger.ops()[row.name]["torch"] if s.startswith("torch."))
    form = Form(row, spelling)
    for case in cases(row, row.dtypes[0]):
        for dtype, shape in [
            (case.dtype, (0,)),
            ("float64", (0,)),
            ("int64", (2,)),
            ("bool", (0,)),
        ]:
            plain = call(form, case, gradient=False)
            plain.what += f" out={dtype}{list(shape)}"
            plain.invoke = into(form, case, dtype, shape)
            yield plain


def into(form, case, dtype, shape):
    def with_target(library, *operands):
        target = library.module.zeros(shape, dtype=library.dtype(dtype), device=library.device)
        result = bound(form, case.options, case.row, case.dtype, out=target)(library, *operands)
        return [result, result is target]

    return with_target


def mixed_dtypes(row):
    """Operands of two dtypes, of two dimensions each, and one of them 0-d."""
    form = next(iter(forms(row)), None)
    for s in list(samples(row))[:3]:
        free = [i for i, o in enumerate(s) if o.dtype is None]
        if form is None or len(free) < 2:
            continue
        for pair in MIXED:
            dtypes = [o.dtype or pair[0] for o in s]
            dtypes[free[1]] = pair[1]
            case = Case(row, s, row.options[0], row.dtypes[0])
            case.arrays = [as_dtype(a, d) for a, d in zip(case.arrays, dtypes)]
            yield call(form, case, gradient=False, dtypes=dtypes)
            if case.arrays[free[1]].ndim and case.arrays[free[1]].size:
                case.arrays[free[1]] = case.arrays[free[1]].reshape(-1)[:1].reshape(())
                yield call(form, case, gradient=False, dtypes=dtypes)


def as_dtype(array, dtype):
    if dtype == "uint8":
        return np.abs(array)
    return array


def other_shapes(row):
    """One operand of another shape; all operands empty or 0-d."""
    form = next(iter(forms(row)), None)
    if form is None:
        return
    for options in row.options:
        for shapes in shapes_of(row.samples[0]):
            sample = tuple(dataclasses.replace(o, shape=s) for o, s in zip(row.samples[0], shapes))
            yield call(form, Case(row, sample, options, row.dtypes[0]), gradient=False)


def shapes_of(sample):
    usual = [o.shape for o in sample]
    for i, shape in enumerate(usual):
        others = [(), (2, *shape), shape[1:], (*shape[:-1], shape[-1] + 1) if shape else (1,)]
        others += [(0, *shape[1:]), (*shape[:-1], 0)] if shape else [(0,)]
        for other in others:
            yield [*usual[:i], other, *usual[i + 1 :]]
    if len(usual) > 1:
        yield [()] * len(usual)
        yield [(0, *s[1:]) for s in usual]
        yield [(*s[:-1], 0) for s in usual]


def refused(row):
    """The row's own refusals, in the plain form."""
    for form in forms(row)[:1]:
        for sample, options, _ in row.refuses + row.refuses_values:
            yield call(form, Case(row, sample, options, row.dtypes[0]), gradient=False)


ODD_OPTIONS = {"dim": (7, -9, None, "x", 1.5, (0, 0)), "keepdim": (2,), "dtype": ("float32", 3)}


def misused(row):
    """No operands, one too many, operands that are no tensors, unknown and wrong options."""
    form = next(iter(forms(row)), None)
    if form is None or form.spelling == "call" or row.arrange:
        return
    case = Case(row, row.samples[0], row.options[0], row.dtypes[0])
    plain = call(form, case, gradient=False)

    def changed(what, invoke):
        whole = f"{form.what}, {what}"
        return dataclasses.replace(plain, what=whole, invoke=invoke, precise=None)

    options = bound_options(case)
    yield changed("no operands", lambda lib, *ts: form(lib, **options(lib)))
    yield changed("one more", lambda lib, *ts: form(lib, *ts, *[ts[0]] * 7, **options(lib)))
    yield changed("nonsense=1", lambda lib, *ts: form(lib, *ts, nonsense=1, **options(lib)))
    for i in range(len(case.arrays)):
        for odd in (None, 2, 2.5, True, [1.0, 2.0], "x", np.float64(2)):
            yield changed(
                f"operand {i} {odd!r}",
                lambda lib, *ts, i=i, odd=odd: form(
                    lib, *ts[:i], odd, *ts[i + 1 :], **options(lib)
                ),
            )
    for name, values in ODD_OPTIONS.items():
        if name in parameters(row.name)[0]:
            for odd in values:
                yield changed(
                    f"{name}={odd!r}",
                    lambda lib, *ts, name=name, odd=odd: form(
                        lib, *ts, **{**options(lib), name: odd}
                    ),
                )
    for name, other in (("dim", "axis"), ("keepdim", "keepdims")):
        if name in case.options:
            yield changed(
                f"{other}=",
                lambda lib, *ts, name=name, other=other: form(
                    lib, *ts, **{other if k == name else k: v for k, v in options(lib).items()}
                ),
            )


def bound_options(case):
    return lambda library: {k: library.option(v) for k, v in case.options.items()}


def of_row(row):
    yield from valid(row)
    yield from with_out(row)
    yield from mixed_dtypes(row)
    yield from other_shapes(row)
    yield from refused(row)
    yield from misused(row)
