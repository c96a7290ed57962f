"""Calls that a row stands for: operands with values, options, and the function in all its forms."""

import functools
import zlib

import flambeau
import numpy as np

from . import binding
from .table import FLOATS, Operand

SEED = 7


class Case:
    """One call: operands as NumPy arrays in the values that the dtype has, and options."""

    def __init__(self, row, sample, options, dtype):
        rng = np.random.default_rng(zlib.crc32(f"{row.name}{sample}{options}".encode()))
        self.row, self.sample, self.options, self.dtype = row, sample, options, dtype
        self.dtypes = [o.dtype or dtype for o in sample]
        self.tensors = [binding.tensor(o.draw(rng, dtype), d) for o, d in zip(sample, self.dtypes)]
        self.arrays = [binding.array(t) for t in self.tensors]
        self.differentiable = [o.grad and d in FLOATS for o, d in zip(sample, self.dtypes)]
        shown = [f"{d}{list(t.shape)}" for d, t in zip(self.dtypes, self.tensors)]
        shown += [f"{k}={v}" for k, v in options.items()]
        self.what = f"{row.name}({', '.join(shown)})"

    def on(self, device):
        return [t.to(device) for t in self.tensors]

    def keywords(self, device):
        if not self.row.creates:
            return self.options
        return {**self.options, "dtype": getattr(flambeau, self.dtype), "device": device}

    def call(self, tensors, device, **more):
        return function(self.row)(*tensors, **self.keywords(device), **more)

    def call_in_place(self, tensors, device):
        return in_place(self.row)(*tensors, **self.keywords(device))

    def leaves(self, device):
        """The operands, those with a gradient as leaves; and these alone."""
        ts = [t.detach().clone() if d else t for t, d in zip(self.on(device), self.tracked)]
        wanted = [t.requires_grad_() for t, d in zip(ts, self.tracked) if d]
        return ts, wanted

    @property
    def tracked(self):
        return [d and self.row.grad for d in self.differentiable]


def changes_operand(row):
    """Whether the op exists in place only, as `fill_` does."""
    return row.name.endswith("_")


def _arranged(row, f):
    return functools.partial(row.arrange, f) if row.arrange else f


def _seeded(row, f):
    """Random ops draw the same numbers at every call, so that all checks hold for them, too."""
    if row.law is None:
        return f

    def seeded(*tensors, **options):
        flambeau.manual_seed(SEED)
        return f(*tensors, **options)

    return seeded


def function(row):
    """The op as a function that leaves its operands alone."""
    f = _seeded(row, row.call or binding.function(row.name))
    f = _arranged(row, f)
    if not changes_operand(row):
        return f
    return lambda target, *rest, **options: f(target.clone(), *rest, **options)


def in_place(row):
    """The form that changes its first operand, or None."""
    if changes_operand(row):
        return _arranged(row, _seeded(row, row.call or binding.function(row.name)))
    method = binding.inplace(row.name)
    return method and _arranged(row, _seeded(row, method))


def samples(row):
    yield from row.samples
    if row.elementwise:
        first = row.samples[0]
        for shape in ((), (0, 3)):
            yield tuple(reshaped(o, shape) for o in first)
        if len(first) > 1:
            shapes = ((3, 1, 2), (1, 4, 1), (2,))
            yield tuple(reshaped(o, shapes[i % 3]) for i, o in enumerate(first))


def reshaped(o, shape):
    return Operand(shape, o.low, o.high, o.dtype, o.values, o.grad)


def cases(row, dtype):
    for sample in samples(row):
        for options in row.options:
            yield Case(row, sample, options, dtype)
    for sample, options in row.pairs:
        yield Case(row, sample, options, dtype)


def differentiable(row):
    """Cases of the first floating dtype with an operand that has a gradient."""
    dtype = next((d for d in row.dtypes if d in FLOATS), None)
    return [c for c in cases(row, dtype) if any(c.tracked)] if dtype else []


def first_case(row):
    return Case(row, row.samples[0], row.options[0], row.dtypes[0])


def big_samples(row):
    """Operands that threads share; none where a row says nothing and no shape suggests itself, and
    none of views, which do no work."""
    if row.view and not row.big:
        return []
    first = row.samples[0]
    alike = len({o.shape for o in first}) == 1 and len(first[0].shape) > 0
    if row.elementwise or (alike and not row.big):
        return [tuple(reshaped(o, (300, 300)) for o in first)]
    return row.big


def big_cases(row):
    for sample in big_samples(row) or row.samples:
        for options in row.options:
            yield Case(row, sample, options, row.dtypes[0])


def results(value):
    return list(value) if isinstance(value, (tuple, list)) else [value]


def tensors_of(value):
    return [t for t in results(value) if isinstance(t, flambeau.Tensor)]


def same(got, want, what):
    """Equal dtypes, shapes and values; NaN equals NaN."""
    for g, w in zip(results(got), results(want), strict=True):
        if isinstance(g, flambeau.Tensor):
            assert g.dtype == w.dtype and tuple(g.shape) == tuple(w.shape), (
                f"{what}: {g.dtype} {tuple(g.shape)}, not {w.dtype} {tuple(w.shape)}"
            )
            np.testing.assert_array_equal(binding.array(g), binding.array(w), err_msg=what)
        else:
            assert g == w, what


def bits(value):
    """What a result is made of, to the last bit."""
    return [
        binding.array(t).tobytes() if isinstance(t, flambeau.Tensor) else t for t in results(value)
    ]
