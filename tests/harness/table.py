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
    name: str
    ref: object
    samples: list
    options: list
    ulp: float
    dtypes: tuple
    grad: bool
    grad_dtypes: tuple
    elementwise: bool
    result: object  # dtype of the result by that of the operands; None: the operands'
    bad: dict  # dtype -> a part of the error's text
    second: bool  # whether the second derivative is checked (False: it is 0 everywhere)
    atol: float
    call: object  # how to call it where torch's spelling is not the function itself
    blocks: str  # the file of the table, for messages


def op(
    name,
    ref,
    samples,
    options=(),
    required=False,
    ulp=2.0,
    dtypes=FLOATS,
    grad=True,
    elementwise=True,
    result=None,
    bad=None,
    second=True,
    atol=0.0,
    call=None,
    blocks="",
):
    """`options` are tried beside a call without any, or instead of it where some are `required`."""
    if name in ROWS:
        raise ValueError(f"two rows for {name}")
    normal = [s if isinstance(s, tuple) else (s,) for s in samples]
    ROWS[name] = Row(
        name,
        ref,
        normal,
        [*([] if required else [{}]), *options],
        ulp,
        dtypes,
        grad,
        FLOATS,
        elementwise,
        result,
        bad or {},
        second,
        atol,
        call,
        blocks,
    )
    return ROWS[name]


def default_float(dtype):
    """The dtype of a floating result: bool and integers become the default dtype."""
    return dtype if dtype in FLOATS else "float32"


def always(dtype):
    return lambda _: dtype


def accumulated(dtype):
    """Of sums and products: integers and bool become int64."""
    return dtype if dtype in FLOATS else "int64"
