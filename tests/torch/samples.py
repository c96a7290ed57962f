"""PyTorch's own operator samples, torch.testing's `op_db`, in both libraries: what its developers
test each operator with, in every dtype and in the forms of function, method, in-place method,
operator and out=, and what it has to refuse. Every call that reaches torch from a sample is made in
both.

An operator's row is its name in parentheses. Complex, sparse and quantised operands are left out.
"""

from __future__ import annotations

import functools
import itertools

from . import apart
from .calls import Call
from .compare import Difference, Tolerance
from .operands import Left, Operands, described
from .walk import Found, compare_call

MOST = 20  # samples of an operator in one dtype
DTYPES = (
    *("float32", "float64", "float16", "bfloat16"),
    *("int64", "int32", "int16", "int8", "uint8", "bool"),
)
OTHERS = ("aten", "fft.", "jiterator", "ops.", "sparse.")
PRIVATE = ("_batch_", "_chunk_", "_native", "_softmax", "_unsafe", "_upsample", "_segment", "_refs")
UNWRITTEN = ("empty", "resize_")  # results that nobody has written
SPELLINGS = (
    *(("torch.functional.", "torch."), ("torch._VF.", "torch."), ("torch._tensor.", "torch.")),
    *(("torch._C._nn.", "torch.nn.functional."), ("torch._C._special.special_", "torch.special.")),
    *(("torch._C._linalg.linalg_", "torch.linalg."), ("torch._C.TensorBase", "torch.Tensor")),
)
BOUNDS = {"float64": 1e-9, "float32": 2e-5, "float16": 2e-3, "bfloat16": 1.6e-2}
COUNTED = Tolerance(64, lambda dtype: BOUNDS.get(dtype, 0.0))
FORM_ONLY = Tolerance(0, lambda dtype: 0.0, values=False)


def into(found, ours, theirs, chosen=(), jobs=1, most=MOST):
    """Adds to `found` what the samples show; says so where the samples cannot be had."""
    try:
        from torch.testing._internal.common_methods_invocations import op_db
    except ImportError as e:  # the samples need packages that torch itself does not
        print(f"not run: PyTorch's operator samples ({e})")
        return
    infos = {}
    for info in op_db:
        if not info.name.startswith(OTHERS + PRIVATE) and (not chosen or info.name in chosen):
            infos.setdefault(info.name, []).append(info)

    def one(name):
        samples = Samples(ours, theirs, name, most)
        samples.all_of(infos[name])
        return samples.found

    for name, result in apart.each(infos, one, jobs):
        if isinstance(result, apart.Died):
            found.differences.append(Difference(f"({name})", "crash", str(result)))
            found.shares.one("forward", f"({name})", False)
        else:
            found.add(result)


class Samples:
    """The samples of one operator."""

    def __init__(self, ours, theirs, name, most=MOST):
        self.found, self.ours, self.theirs, self.most = Found(), ours, theirs, most
        self.row, self.missing, self.calls = f"({name})", set(), 0
        self.unwritten = any(word in name for word in UNWRITTEN)
        self.sort = "forward"  # of the calls that are being made
        self.broken = None  # what failed in the comparison itself, and not in a call

    def all_of(self, infos):
        for info in infos:
            for dtype in DTYPES:
                if getattr(self.theirs.module, dtype) in info.dtypes:
                    self.in_dtype(info, getattr(self.theirs.module, dtype))
            self.refused(info)
        self.found.calls[self.row] = self.calls

    def in_dtype(self, info, dtype):
        self.theirs.module.manual_seed(0)
        slopes = dtype in info.backward_dtypes and dtype.is_floating_point and dtype.itemsize > 2
        samples = info.sample_inputs("cpu", dtype, requires_grad=slopes)
        for sample in spread(list(itertools.islice(samples, 10 * self.most)), self.most):
            given = ((sample.input, *sample.args), sample.kwargs)
            self.made_by(info.op, given, slopes, "forward")
            self.made_by(info.method_variant, given, slopes, "spellings")
            self.made_directly(info.operator_variant, given)
            if not sample.broadcasts_input and not slopes:
                self.made_by(info.inplace_variant, given, False, "spellings")
                self.made_directly(info.inplace_operator_variant, given)
            if info.supports_out and not slopes:
                self.with_out(info.op, given)

    def made_by(self, f, given, slopes, sort):
        """Compares the calls that `f` makes of torch."""
        if f is None:
            return
        self.sort, self.reached = sort, False
        try:
            made = Operands(self.theirs.module, *given, slopes)
            args, kwargs = made.given(made(self.theirs, requires_grad=slopes))
            with recording(self.theirs.module, functools.partial(self.visit, slopes)):
                f(*args, **kwargs)
        except Left:
            return
        except Exception:  # a call that raised and was compared
            if self.broken:
                raise self.broken from None
        if sort == "errors" and not self.reached:  # what the parser refuses is seen by nobody
            self.compare(False, f, *given)

    def made_directly(self, f, given):
        """Compares a function of Python's `operator` module."""
        if f is None:
            return
        self.sort = "spellings"
        try:
            make = Operands(self.theirs.module, *given, False)
        except Left:
            return
        self.compared(f"operator.{f.__name__}", *given, make, make.by(f))

    def with_out(self, f, given):
        """Compares the call with out= of the result's kind."""
        torch = self.theirs.module
        try:
            made = Operands(torch, *given, False)
            args, kwargs = made.given(made(self.theirs))
            result = f(*args, **kwargs)
        except Exception:  # the plain call has been compared
            return
        if isinstance(result, torch.Tensor):
            out = torch.zeros_like(result)
        elif isinstance(result, (tuple, list)) and all(isinstance(r, torch.Tensor) for r in result):
            out = tuple(torch.zeros_like(r) for r in result)
        else:
            return
        self.made_by(f, (given[0], given[1] | {"out": out}), False, "spellings")

    def visit(self, *call):
        self.reached = True
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
            absent = Difference(self.row, "name", f"flambeau has no {spelling}")
            if spelling not in self.missing:
                self.found.differences.append(absent)
            self.missing.add(spelling)
            self.found.shares.call(self.sort, self.row, [absent], False)
            return
        self.compared(spelling, args, kwargs, make, make.call(spelling))

    def compared(self, spelling, args, kwargs, make, invoke):
        what = f"{spelling}({described(args, kwargs)})"
        chance = self.unwritten or self.draws(make, invoke)
        call = Call(
            *(self.row, spelling, what, make, invoke),
            FORM_ONLY if chance else COUNTED,
            differentiable=make.differentiable,
            precise=None if chance else make.precise,
        )
        if self.sort == "errors" and not self.theirs.outcome(make, invoke).raised:
            return  # a step before the one that is refused
        self.calls += 1
        before = len(self.found.differences)
        compare_call(self.found, self.ours, self.theirs, call)
        differences = self.found.differences[before:]
        self.found.shares.call(self.sort, self.row, differences, any(make.differentiable))

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
                given = ((sample.input, *sample.args), sample.kwargs)
                self.made_by(info.op, given, False, "errors")
        except RuntimeError:  # samples that need a GPU
            return


def spread(samples, most):
    """At most so many of them, from first to last."""
    step = max(1.0, len(samples) / max(most, 1))
    return [samples[int(i * step)] for i in range(min(most, len(samples)))]


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
    if name is None or name.endswith(("__get__", "__set__")) or not name.startswith("torch."):
        return None
    for begin, instead in SPELLINGS:
        if name.startswith(begin):
            name = instead + name[len(begin) :]
    if name.startswith(("torch.ops", "torch._C")):
        return None
    return name[len("torch.") :] if name.startswith("torch.Tensor.") else name
