"""One of two libraries with torch's names, seen from outside: it makes operands, finds functions by
their spelling, and turns what a call does into plain data, so that the comparer knows neither
library and can be tested with either in both places.
"""

from __future__ import annotations

import functools
import pathlib
import types
import warnings
from dataclasses import dataclass, field

import numpy as np
from flambeau._library import owner

SHOWN = owner.Function, owner.Method  # what our namespaces and Tensor show
UNSPELLED = "tests.harness.gen.api"  # calls of C functions, the tables' own
TESTS = str(pathlib.Path(__file__).resolve().parents[1])


@dataclass
class Seen:
    """A tensor as a program can observe it."""

    dtype: str
    shape: tuple
    stride: tuple
    values: np.ndarray
    history: bool = False  # requires_grad
    shares: tuple = ()  # operands that begin where it begins
    base: object = None  # of a view: the operand that it is of, or "another"


@dataclass
class Raised:
    """An exception: the names of its builtin classes, and its first line."""

    classes: tuple
    text: str
    stage: str = "call"


@dataclass
class Outcome:
    results: object = None  # Seen, plain values, or (nested) lists of them
    gradients: list = field(default_factory=list)  # Seen or None, by differentiable operand
    again: tuple = ()  # a second pass: whether it agreed, and how one ended after values were freed
    written: dict = field(default_factory=dict)  # by place, the operands whose version changed
    raised: Raised = None


BUILTIN = (
    *("TypeError", "ValueError", "IndexError", "NotImplementedError", "AttributeError", "KeyError"),
    *("RuntimeError", "AssertionError", "MemoryError", "OSError"),
)


def raised(error, stage="call"):
    names = tuple(c.__name__ for c in type(error).__mro__ if c.__name__ in BUILTIN)
    return Raised(names or (type(error).__name__,), str(error).split("\n")[0][:160], stage)


class Library:
    def __init__(self, module, ours=None, device="cpu"):
        """`ours` is the module whose functions and dtypes the table's rows hold; operands lie on
        the device."""
        self.module, self.ours, self.device = module, ours or module, device
        self._modules = {}

    def dtype(self, name):
        return getattr(self.module, name)

    def tensor(self, array, dtype):
        return self.module.tensor(array).to(self.device, self.dtype(dtype))

    def find(self, spelling):
        """The function or method that `torch.x`, `F.x` or `Tensor.x` names; None without one."""
        head, _, rest = spelling.partition(".")
        roots = {"F": self.module.nn.functional, "Tensor": self.module.Tensor}
        try:
            return functools.reduce(getattr, rest.split("."), roots.get(head, self.module))
        except AttributeError:
            return None

    def option(self, value):
        """An option of a row in this library's terms."""
        if isinstance(value, type(self.ours.float32)):
            return self.dtype(str(value).rpartition(".")[2])
        if isinstance(value, self.ours.Tensor):
            return self.module.tensor(value.numpy()).to(self.device)
        return value

    def call_of_row(self, f):
        """A function from the table's files, with this library in the place of ours."""
        if self.module is self.ours:
            return f
        if isinstance(f, SHOWN):
            return self._namesake(f)
        if isinstance(f, functools.partial):
            return functools.partial(self.call_of_row(f.func), *f.args, **f.keywords)
        if _of_ours(f):
            return self._namesake(f)
        if not isinstance(f, types.FunctionType):
            return f
        cells = tuple(types.CellType(self._given(c.cell_contents)) for c in f.__closure__ or ())
        names = self._names_for(f.__globals__)
        copy = types.FunctionType(f.__code__, names, f.__name__, f.__defaults__, cells)
        copy.__kwdefaults__ = f.__kwdefaults__
        return copy

    def _names_for(self, names):
        """A module's names in this library's terms, once for all of its functions."""
        if id(names) not in self._modules:
            ours = self._modules[id(names)] = {}
            ours.update({n: self._given(v) for n, v in list(names.items())})
        return self._modules[id(names)]

    def _namesake(self, f):
        path = f.__qualname__.split(".") if "." in f.__qualname__ else [f.__name__]
        for root in (self.module, self.module.Tensor, self.module.nn.functional):
            try:
                return functools.reduce(getattr, path, root)
            except AttributeError:
                continue
        return f

    def _given(self, value):
        if value is self.ours:
            return self.module
        if value is self.ours.nn.functional:
            return self.module.nn.functional
        if isinstance(value, types.ModuleType) and value.__name__ == UNSPELLED:
            return self._unspelled()
        if isinstance(value, SHOWN):
            return self._namesake(value)
        if isinstance(value, types.FunctionType):
            tables = str(value.__globals__.get("__file__", "")).startswith(TESTS)
            return self.call_of_row(value) if tables or _of_ours(value) else value
        return value

    def _unspelled(self):
        """What torch says otherwise, of the functions that have no spelling of torch's."""
        return types.SimpleNamespace(
            normal=self.module.normal,
            scalar_f64=float,
            scalar_i64=int,
            scalar_bool=bool,
            index_put_=lambda a, kinds, bounds, at, values, add: a.index_put_(at, values, add),
        )

    def seen(self, value, operands=()):
        if isinstance(value, self.module.Tensor):
            return self._seen_tensor(value, operands)
        if isinstance(value, (tuple, list)):
            return [self.seen(v, operands) for v in value]
        if isinstance(value, self.module.dtype):
            return str(value).rpartition(".")[2]
        if isinstance(value, self.module.device):
            return str(value)
        if isinstance(value, np.ndarray):
            steps = [s // value.itemsize for s in value.strides]
            values = value.astype(float) if value.dtype.kind == "f" else value
            return Seen(f"numpy {value.dtype}", value.shape, tuple(steps), values.copy())
        return value

    def _seen_tensor(self, t, operands):
        plain = t.detach().cpu()
        values = plain.double().numpy() if t.is_floating_point() else plain.numpy()
        shares = [i for i, o in enumerate(operands) if o.numel() and o.data_ptr() == t.data_ptr()]
        return Seen(
            str(t.dtype).rpartition(".")[2],
            tuple(t.shape),
            tuple(t.stride()),
            values.copy(),
            t.requires_grad,
            tuple(shares),
            base_of(t, operands),
        )

    def outcome(self, make, invoke, differentiable=()):
        """What `invoke(self, *make(self))` does; gradients where operands are differentiable."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.module.manual_seed(7)
            try:
                operands = make(self)
            except Exception as e:
                raise RuntimeError(f"{self.module.__name__}: operands: {e}") from e
            leaves = [o for o, d in zip(operands, differentiable) if d]
            for leaf in leaves:
                leaf.requires_grad_()
            versions = [o._version for o in operands]
            try:
                result = invoke(self, *operands)
            except Exception as e:
                return Outcome(raised=raised(e))
            outcome = Outcome(self.seen(result, operands))
            for i, (operand, version) in enumerate(zip(operands, versions)):
                if operand._version != version:
                    outcome.written[i] = self._seen_tensor(operand, ())
            if leaves:
                try:
                    outcome.gradients, outcome.again = self._gradients(result, leaves)
                except Exception as e:
                    outcome.raised = raised(e, "backward")
            return outcome

    def _gradients(self, result, leaves):
        """Gradients, and what further passes through the same graph do."""
        rng = np.random.default_rng(3)
        outputs, weights = [], []
        for t in flat(result):
            if not (isinstance(t, self.module.Tensor) and t.is_floating_point()):
                continue
            values = np.asarray(rng.uniform(0.5, 1.5, tuple(t.shape)))
            if t.requires_grad:
                outputs.append(t)
                weights.append(self.tensor(values, str(t.dtype).rpartition(".")[2]))
        if not outputs:
            return [None] * len(leaves), ()

        def walk(**options):
            found = self.module.autograd.grad(
                outputs, leaves, weights, allow_unused=True, **options
            )
            return [None if g is None else self._seen_tensor(g, ()) for g in found]

        first = walk(retain_graph=True)
        second = walk()
        try:
            walk()
            third = "works"
        except RuntimeError:
            third = "is refused"
        return first, (all(map(_equal, first, second)), third)


def _equal(a, b):
    """Whether two passes found the same gradient."""
    if a is None or b is None:
        return a is b
    return np.array_equal(a.values, b.values, equal_nan=True)


def base_of(t, operands):
    if t._base is None:
        return None
    return next((i for i, o in enumerate(operands) if o is t._base), "another")


def _of_ours(f):
    return (getattr(f, "__module__", None) or "").startswith(("flambeau", UNSPELLED))


def flat(value):
    if isinstance(value, (tuple, list)):
        for v in value:
            yield from flat(v)
    else:
        yield value
