"""Functions and methods in forms that torch warns of, or will give another meaning.

Each stands in front of the generated function of its name, which does the work."""

from .._call import fill, handles
from .._errors import DtypeError
from .._factory import arange
from .._gen import api, ops
from .._on_demand import called as _called
from .._tensor import Tensor
from .._types import NAMES
from . import warn, warn_once

_UINT8, _BOOL = NAMES["uint8"], NAMES["bool"]


def range(start=0, end=None, step=1, *, dtype=None, device=None, requires_grad=False, out=None):
    """Numbers from `start` up to and with `end`. Deprecated in favour of `arange`."""
    warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is "
        "inconsistent with Python's range builtin. Instead, use torch.arange, which produces "
        "values in [start, end)."
    )
    if end is None:
        start, end = 0, start
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    n = int((end - start) / step) + 1
    kind = dtype or api.get_default_dtype()
    wide = NAMES["int64"] if not kind.is_floating_point else NAMES["float64"]
    made = (arange(n, dtype=wide, device=device) * step + start).to(kind)
    if out is not None:
        made = made.reshape(out.shape) if out.numel() == made.numel() else made
        return fill(out, made, "range", cast=True)
    return made.requires_grad_(requires_grad)


def _with_uint8_conditions(name, place):
    function = ops.TORCH[name] if place == 0 else ops.TENSOR[name]

    def where(*args, **named):
        try:
            return function(*args, **named)
        except DtypeError:
            condition = named.get("condition", args[place] if len(args) > place else None)
            if getattr(condition, "dtype", None) is not _UINT8:
                raise
        warn_once(
            "where received a uint8 condition tensor. This behavior is deprecated and will be "
            "removed in a future version of PyTorch. Use a boolean condition instead."
        )
        if "condition" in named:
            return function(*args, **{**named, "condition": condition.to(_BOOL)})
        return function(*args[:place], condition.to(_BOOL), *args[place + 1 :], **named)

    return _called(where, name, function.__doc__)


def meshgrid(*tensors, indexing=None):
    """Grids of the coordinates in 1-d tensors; `indexing` is "ij" (the default) or "xy"."""
    if indexing is None:
        warn_once(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing "
            "argument."
        )
        indexing = "ij"
    if indexing not in ("ij", "xy"):
        raise RuntimeError(
            'torch.meshgrid: indexing must be one of "xy" or "ij", but received: ' + str(indexing)
        )
    return ops._meshgrid(*tensors, indexing=indexing)


def cross(input, other, dim=None, *, out=None):
    """The product of vectors of 3 along `dim`; without one along the first dimension of size 3."""
    if dim is None:
        warn_once(
            "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass "
            "the dim explicitly or simply use torch.linalg.cross.\nThe default value of dim will "
            "change to agree with that of linalg.cross in a future release."
        )
    return ops._cross(input, other, dim, out=out)


def chain_matmul(*matrices, out=None):
    """The product of matrices, in the cheapest order. Deprecated in favour of `linalg.multi_dot`,
    which takes a list of two matrices at least."""
    warn_once(
        "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use "
        "torch.linalg.multi_dot instead, which accepts a list of two or more tensors rather than "
        "multiple parameters."
    )
    if len(matrices) == 1 and isinstance(matrices[0], (list, tuple)):
        (matrices,) = matrices
    if not handles(matrices):
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    if len(matrices) > 1:
        return ops.LINALG["multi_dot"](matrices, out=out)
    if matrices[0].dim() != 2:
        raise RuntimeError(f"Tensor dimension is {matrices[0].dim()}, expected 2 instead.")
    return matrices[0] if out is None else fill(out, matrices[0], "chain_matmul")


def resize(self, *size):
    """A tensor of another shape. Deprecated."""
    warn("non-inplace resize is deprecated")
    return self.reshape(*size)


def resize_as(self, other):
    """A tensor of another's shape. Deprecated."""
    warn("non-inplace resize_as is deprecated")
    return self.reshape(other.shape)


FUNCTIONS = {
    "chain_matmul": chain_matmul,
    "cross": cross,
    "meshgrid": meshgrid,
    "range": range,
    "where": _with_uint8_conditions("where", 0),
}
Tensor.cross, Tensor.resize, Tensor.resize_as = cross, resize, resize_as
Tensor.where = _with_uint8_conditions("where", 1)
