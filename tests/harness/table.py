"""The table of ops: one row per function of the ABI, from which every check is derived.

    op("gelu", ref=lambda x, approximate="none": ..., samples=[x(3, 4)],
    options=[dict(approximate="tanh")])

`ref` takes and returns float64 NumPy arrays (integers for integral operands). A row without a
reference for a dtype is not run with it; what is left out is listed in the row, never skipped
silently.
"""

import dataclasses

import numpy as np

FLOATS = ("float32", "float64", "float16", "bfloat16")
INTS = ("int64", "int32", "int16", "int8", "uint8")
NUMBERS = FLOATS + INTS
ALL = NUMBERS + ("bool",)
EPS = {"float32": 2.0**-23, "float64": 2.0**-52, "float16": 2.0**-10, "bfloat16": 2.0**-7}
SMALLEST = {"float32": 2.0**-126, "float64": 2.0**-1022, "float16": 2.0**-14, "bfloat16": 2.0**-126}

ROWS = {}


@dataclasses.dataclass(frozen=True)
class Operand:
    """One tensor of a sample: its shape and the values it draws from."""

    shape: tuple
    low: float = -3.0
    high: float = 3.0
    dtype: str = None  # fixed, whatever dtype the row runs with
    values: tuple = None  # instead of random ones
    grad: bool = True

    def draw(self, rng, dtype):
        dtype = self.dtype or dtype
        if self.values is not None:
            return np.resize(np.array(self.values), self.shape)
        if dtype == "bool":
            return rng.random(self.shape) < 0.5
        if dtype in INTS:
            low = max(self.low, 0) if dtype == "uint8" else self.low
            return rng.integers(
                int(np.ceil(low)), max(int(np.floor(self.high)), int(np.ceil(low))) + 1, self.shape
            )
        # A grid, so that no value lies on a kink at an integer or a half, nor two close to each
        # other.
        steps = rng.choice(4096, self.shape, replace=np.prod(self.shape) > 4096)
        return self.low + (self.high - self.low) * (steps + 0.37) / 4096.0


def x(*shape, **kwargs):
    return Operand(shape, **kwargs)


def positive(*shape, low=0.1, high=4.0, **kwargs):
    return Operand(shape, low, high, **kwargs)


def unit(*shape, low=-0.95, high=0.95, **kwargs):
    return Operand(shape, low, high, **kwargs)


@dataclasses.dataclass
class Row:
    """`samples` are operands, `options` keywords; every sample runs with every set of options."""

    name: str
    ref: object
    samples: list
    options: list
    pairs: list  # further calls, (sample, options) each
    ulp: float
    dtypes: tuple
    grad: bool
    elementwise: bool
    result: object  # dtype of the result by that of the operands; None: the operands'
    bad: dict  # dtype -> a part of the error's text
    second: bool  # whether the second derivative is checked (False: it is 0 everywhere)
    atol: object  # a number, or numbers by dtype, 1e-5 for those not named
    call: object  # what is called where torch's spelling is not the function itself
    arrange: object  # (function, *operands, **options) -> its result; None: in this order
    refuses: list  # (sample, options, a part of the error's text)
    refuses_values: list  # the same; a device finds them too late to tell, and is lost
    view: object  # True: results share the operand's memory; "dense": where it is contiguous;
    # None: some do
    strided: str  # a part of the error's text where it refuses other strides
    big: list  # samples large enough that threads share the work
    law: object  # of random results: (values, *operands, **options), raises where they break it
    creates: bool  # makes tensors from options: dtype and device are options, too
    crosses: bool  # operands may be on different devices

    def absolute(self, dtype):
        return self.atol.get(dtype, 1e-5) if isinstance(self.atol, dict) else self.atol


def op(
    name,
    ref=None,
    samples=((),),
    options=(),
    required=False,
    pairs=(),
    ulp=2.0,
    dtypes=FLOATS,
    grad=True,
    elementwise=True,
    result=None,
    bad=None,
    second=True,
    atol=0.0,
    call=None,
    arrange=None,
    refuses=(),
    refuses_values=(),
    view=False,
    strided=None,
    big=(),
    law=None,
    creates=False,
    crosses=False,
):
    """`options` are tried beside a call without any, or instead of it where some are `required`."""
    if name in ROWS:
        raise ValueError(f"two rows for {name}")
    if (ref is None) == (law is None):
        raise ValueError(f"{name}: a row has either a reference or a law")
    ROWS[name] = Row(
        name=name,
        ref=ref,
        samples=[as_sample(s) for s in samples],
        options=[*([] if required else [{}]), *options],
        pairs=[(as_sample(s), o) for s, o in pairs],
        ulp=ulp,
        dtypes=dtypes,
        grad=grad,
        elementwise=elementwise,
        result=result,
        bad=bad or {},
        second=second,
        atol=atol,
        call=call,
        arrange=arrange,
        refuses=[(as_sample(s), o, text) for s, o, text in refuses],
        refuses_values=[(as_sample(s), o, text) for s, o, text in refuses_values],
        view=view,
        strided=strided,
        big=[as_sample(s) for s in big],
        law=law,
        creates=creates,
        crosses=crosses,
    )
    return ROWS[name]


def as_sample(s):
    return s if isinstance(s, tuple) else (s,)


# Orders of arguments, for `arrange`.


def listed(f, *tensors, **options):
    """The operands as one list, in front."""
    return f(list(tensors), **options)


def before_operands(*names):
    """Options that stand between the first operand and the others: `f(x, dim, index)`."""

    def arrange(f, first, *rest, **options):
        between = [options.pop(n) for n in names]
        return f(first, *between, *rest, **options)

    return arrange


def default_float(dtype):
    """The dtype of a floating result: bool and integers become the default dtype."""
    return dtype if dtype in FLOATS else "float32"


def always(dtype):
    return lambda _: dtype


def accumulated(dtype):
    """Of sums and products: integers and bool become int64."""
    return dtype if dtype in FLOATS else "int64"
