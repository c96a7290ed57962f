"""PyTorch's own operator samples, torch.testing's `op_db`, in both libraries: what its developers
test each operator with, in every dtype and in the forms of function, method and in-place method,
and what it has to refuse. Every call that reaches torch from a sample is made in both.

An operator's row is its name in parentheses. Complex, sparse and quantised operands are left out.
"""

from __future__ import annotations

import functools
import itertools

from .calls import Call
from .compare import Difference, Tolerance
from .operands import Left, Operands, described
from .walk import compare_call

MOST = 20  # samples of an operator in one dtype
DTYPES = (
    *("float32", "float64", "float16", "bfloat16"),
    *("int64", "int32", "int16", "int8", "uint8", "bool"),
)
OTHERS = ("_", "aten", "fft.", "jiterator", "masked.", "ops.", "signal.", "sparse.")
UNWRITTEN = ("empty", "resize_")  # results that nobody has written
SPELLINGS = (
    *(("torch.functional.", "torch."), ("torch._VF.", "torch."), ("torch._tensor.", "torch.")),
    *(("torch._C._nn.", "torch.nn.functional."), ("torch._C._special.special_", "torch.special.")),
    *(("torch._C._linalg.linalg_", "torch.linalg."), ("torch._C.TensorBase", "torch.Tensor")),
)
BOUNDS = {"float64": 1e-9, "float32": 2e-5, "float16": 2e-3, "bfloat16": 1.6e-2}
COUNTED = Tolerance(64, lambda dtype: BOUNDS.get(dtype, 0.0))
FORM_ONLY = Tolerance(0, lambda dtype: 0.0, values=False)


def into(found, ours, theirs, chosen=()):
    """Adds to `found` what the samples show; says so where the samples cannot be had."""
    try:
        from torch.testing._internal.common_methods_invocations import op_db
    except ImportError as e:  # the samples need packages that torch itself does not
        print(f"not run: PyTorch's operator samples ({e})")
        return
    for name, infos in itertools.groupby(op_db, lambda info: info.name):
        if not name.startswith(OTHERS) and (not chosen or name in chosen):
            Samples(found, ours, theirs, name).all_of(list(infos))


class Samples:
    """The samples of one operator."""

    def __init__(self, found, ours, theirs, name):
        self.found, self.ours, self.theirs = found, ours, theirs
        self.row, self.missing, self.calls = f"({name})", set(), 0
        self.unwritten = any(word in name for word in UNWRITTEN)
        self.broken = None  # what failed in the comparison itself, and not in a call

    def all_of(self, infos):
        for info in infos:
            for dtype in DTYPES:
                if getattr(self.theirs.module, dtype) in info.dtypes:
                    self.in_dtype(info, getattr(self.theirs.module, dtype))
            self.refused(info)
        self.found.calls[self.row] = self.found.calls.get(self.row, 0) + self.calls

    def in_dtype(self, info, dtype):
        self.theirs.module.manual_seed(0)
        slopes = dtype in info.backward_dtypes and dtype.is_floating_point and dtype.itemsize > 2
        samples = info.sample_inputs("cpu", dtype, requires_grad=slopes)
        for sample in itertools.islice(samples, MOST):
            given = ((sample.input, *sample.args), sample.kwargs)
            for f in (info.op, info.method_variant):
                self.made_by(f, given, slopes)
            if info.inplace_variant and not sample.broadcasts_input and not slopes:
                self.made_by(info.inplace_variant, given, False)

    def made_by(self, f, given, slopes):
        """Compares the calls that `f` makes of torch."""
        if f is None:
            return
        try:
            made = Operands(self.theirs.module, *given, slopes)
            args, kwargs = made.given(made(self.theirs, requires_grad=slopes))
            with recording(self.theirs.module, functools.partial(self.visit, slopes)):
                f(*args, **kwargs)
        except Exception:  # operands that are left out, or a call that raised and was compared
            if self.broken:
                raise self.broken from None

    def visit(self, *call):
        try:
            self.compare(*call)
        except Exception as problem:
            self.broken = problem
            raise

    def compare(self, slopes, function, args, kwargs):
        spelling = spelled(function)
        if spelling is None:
            return
        try:
            make = Operands(self.theirs.module, args, kwargs, slopes)
        except Left:
            return
        if self.ours.find(spelling) is None:
            if spelling not in self.missing:
                text = f"flambeau has no {spelling}"
                self.found.differences.append(Difference(self.row, "name", text))
            self.missing.add(spelling)
            return
        self.calls += 1
        what = f"{spelling}({described(args, kwargs)})"
        chance = self.unwritten or self.draws(make, make.call(spelling))
        call = Call(
            *(self.row, spelling, what, make, make.call(spelling)),
            FORM_ONLY if chance else COUNTED,
            differentiable=make.differentiable,
            precise=None if chance else make.precise,
        )
        compare_call(self.found, self.ours, self.theirs, call)

    def draws(self, make, invoke):
        """Whether the call takes random numbers, which are not the same in both libraries."""
        self.theirs.module.manual_seed(7)
        before = self.theirs.module.get_rng_state()
        self.theirs.outcome(make, invoke)  # from the same seed
        return not self.theirs.module.equal(before, self.theirs.module.get_rng_state())

    def refused(self, info):
        """What the operator has to refuse, and how."""
        if info.error_inputs_func is None:
            return
        try:
            for refused in info.error_inputs("cpu"):
                sample = refused.sample_input
                self.made_by(info.op, ((sample.input, *sample.args), sample.kwargs), False)
        except RuntimeError:  # samples that need a GPU
            return


def recording(torch, visit):
    """While it is entered, `visit` sees each call that reaches torch from outside."""
    from torch.overrides import TorchFunctionMode

    class Mode(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            visit(function, args, kwargs or {})
            return function(*args, **(kwargs or {}))

    return Mode()


def spelled(function):
    """How a program says this function or method; None where it cannot."""
    from torch.overrides import resolve_name

    name = resolve_name(function)
    if name is None or "__" in name or not name.startswith("torch."):
        return None
    for begin, instead in SPELLINGS:
        if name.startswith(begin):
            name = instead + name[len(begin) :]
    if name.startswith(("torch.ops", "torch._C")):
        return None
    return name[len("torch.") :] if name.startswith("torch.Tensor.") else name
