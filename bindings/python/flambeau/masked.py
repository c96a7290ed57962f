"""`torch.masked`: reductions and normalizations of the elements that a mask names.

A masked element counts as what its reduction leaves as it is: 0 in sums, 1 in products, -inf in
maxima. Where nothing is named the result is that alone, or NaN where there is none, such as a mean.
`mask` is broadcast to `input`; without one everything counts. Tensors that know their mask
(`MaskedTensor`, a prototype in PyTorch) are unsupported."""

import math

from . import _refused
from . import _torch as torch
from ._call import _mismatch

_WHY = "no tensor knows a mask of its own; give the functions of torch.masked a mask"
_NAMES = "MaskedTensor as_masked_tensor is_masked_tensor masked_tensor"
globals().update(_refused.names("torch.masked", _NAMES, _WHY))

__all__ = (
    "amax amin argmax argmin cumprod cumsum log_softmax logaddexp logsumexp mean median norm "
    "normalize prod softmax softmin std sum var"
).split()


def _spread(name, input, mask):
    """The mask as truth values of the input's shape; None where there is none."""
    if not hasattr(input, "_h"):
        raise _mismatch(name, 0, "input", "Tensor", input)
    if mask is None:
        return None
    if mask.dim() > input.dim():
        raise IndexError(
            f"{name}(): the mask has {mask.dim()} dimensions and is to be broadcast to an input of "
            f"{input.dim()}"
        )
    return mask.bool().expand(input.shape)


def _kept(input, mask, neutral):
    return input if mask is None else torch.where(mask, input, neutral)


def _least(name, dtype):
    if dtype is torch.bool:
        raise NotImplementedError(f"{name}() of {dtype} has no neutral element for what is masked")
    return -math.inf if dtype.is_floating_point else torch.iinfo(dtype).min


def _most(name, dtype):
    return math.inf if dtype.is_floating_point else -1 - _least(name, dtype)


def _dims(name, input, dim):
    """The dimensions as a tuple without negative ones; all of them for None and ()."""
    n = max(input.dim(), 1)
    given = (dim,) if isinstance(dim, int) else dim
    if given is None or len(given) == 0:
        return tuple(range(input.dim()))
    for d in given:
        if not -n <= d < n:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {d})"
            )
    found = tuple(d % n for d in given)
    for d in found:
        if found.count(d) > 1:
            raise RuntimeError(f"{name}(): dim={d} appears multiple times in the list of dims")
    return found if input.dim() else ()


def _first_dim(name, input, dim):
    """What goes along one dimension takes the first of several, or of all, as in torch."""
    return min(_dims(name, input, dim), default=0)


def _floating(name, input, dtype):
    dtype = dtype or input.dtype
    if not dtype.is_floating_point:
        raise ValueError(
            f"{name}(): Could not infer output dtype. It must be a floating point one, but got "
            f"{dtype}; give dtype=torch.float32"
        )
    return dtype


# ---- reductions over several dimensions


def sum(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    mask, dims = _spread("sum", input, mask), _dims("sum", input, dim)
    return torch.sum(_kept(input, mask, 0), dims, keepdim=bool(keepdim), dtype=dtype)


def prod(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    found, dims = _kept(input, _spread("prod", input, mask), 1), _dims("prod", input, dim)
    if not dims:
        return torch.prod(found, dtype=dtype)
    for d in sorted(dims, reverse=True):
        found = torch.prod(found, d, keepdim=bool(keepdim), dtype=dtype)
    return found


def amax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    return _extreme("amax", torch.amax, _least, input, dim, keepdim, dtype, mask)


def amin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    return _extreme("amin", torch.amin, _most, input, dim, keepdim, dtype, mask)


def _extreme(name, reduce, neutral, input, dim, keepdim, dtype, mask):
    mask, dims = _spread(name, input, mask), _dims(name, input, dim)
    input = input if dtype is None else input.to(dtype)
    return reduce(_kept(input, mask, neutral(name, input.dtype)), dims, keepdim=bool(keepdim))


def _count(input, mask, dims):
    """How many elements are named, in the result's shape with kept dimensions."""
    if mask is None:
        mask = torch.ones((), dtype=torch.bool, device=input.device).expand(input.shape)
    return mask.sum(dims, keepdim=True)


def mean(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    dtype = _floating("mean", input, dtype)
    mask, dims = _spread("mean", input, mask), _dims("mean", input, dim)
    if mask is None:
        return torch.mean(input, dims, keepdim=bool(keepdim), dtype=dtype)
    total = torch.sum(_kept(input, mask, 0), dims, keepdim=True, dtype=dtype)
    return _shaped(total / _count(input, mask, dims), dims, keepdim)


def var(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """Of `correction` elements fewer than there are: 1, or 0 where `unbiased` is False."""
    assert unbiased is None or correction is None, (
        "Only one of unbiased and correction may be given"
    )
    if correction is None:
        correction = 0 if unbiased is False else 1
    if input.dtype is torch.bool:
        raise NotImplementedError("the variance of truth values is unsupported; use input.float()")
    dtype = dtype or (input.dtype if input.dtype.is_floating_point else torch.float32)
    mask, dims = _spread("var", input, mask), _dims("var", input, dim)
    input, count = input.to(dtype), _count(input, mask, dims)
    middle = torch.sum(_kept(input, mask, 0), dims, keepdim=True) / count
    total = torch.sum(_kept(input - middle, mask, 0) ** 2, dims, keepdim=True)
    return _shaped((total / (count - correction).clamp(min=0)).to(dtype), dims, keepdim)


def std(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    found = var(
        *(input, dim, unbiased),
        **dict(correction=correction, keepdim=keepdim, dtype=dtype, mask=mask),
    )
    return torch.sqrt(found)


def _shaped(found, dims, keepdim):
    """Without the dimensions that were kept for the arithmetic."""
    return found if keepdim or not dims else found.squeeze(dims)


def logsumexp(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    mask, dims = _spread("logsumexp", input, mask), _dims("logsumexp", input, dim)
    input = input if dtype is None else input.to(dtype)
    kept = _kept(input, mask, _least("logsumexp", input.dtype))
    return torch.logsumexp(kept, dims, keepdim=bool(keepdim)).to(dtype or input.dtype)


def norm(input, ord=2.0, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The vector norm; of negative `ord` what is masked counts as infinite."""
    mask, dims = _spread("norm", input, mask), _dims("norm", input, dim)
    kept = _kept(input, mask, math.inf if ord < 0 else 0)
    return torch.linalg.vector_norm(kept, ord, dims, keepdim=bool(keepdim), dtype=dtype)


# ---- along one dimension


def argmax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The places of the greatest elements, as `dtype`, by default the input's."""
    return _place("argmax", torch.argmax, _least, input, dim, keepdim, dtype, mask)


def argmin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The places of the least elements, as `dtype`, by default the input's."""
    return _place("argmin", torch.argmin, _most, input, dim, keepdim, dtype, mask)


def _place(name, find, neutral, input, dim, keepdim, dtype, mask):
    mask = _spread(name, input, mask)
    dtype = dtype or input.dtype
    kept = _kept(input, mask, neutral(name, input.dtype))
    return find(kept, dim, keepdim=bool(keepdim)).to(dtype)


def median(input, dim=-1, *, keepdim=False, dtype=None, mask=None):
    """The lower median; a row without elements has NaN, and is an error where there is none."""
    mask, dim = _spread("median", input, mask), _first_dim("median", input, dim)
    floating = input.dtype.is_floating_point
    input = input if dtype is None else input.to(dtype)
    if mask is None:
        middle = torch.nanmedian if input.dtype.is_floating_point else torch.median
        return middle(input, dim, keepdim=bool(keepdim)).values
    if not floating and not mask.any(dim).all():
        raise ValueError(
            "masked median expects no fully masked out rows if dtype is not floating point"
        )
    kept = torch.where(mask, input if input.dtype.is_floating_point else input.double(), math.nan)
    return torch.nanmedian(kept, dim, keepdim=bool(keepdim)).values.to(input.dtype)


def cumsum(input, dim, *, dtype=None, mask=None):
    return _running(torch.cumsum, 0, input, dim, dtype, mask)


def cumprod(input, dim, *, dtype=None, mask=None):
    return _running(torch.cumprod, 1, input, dim, dtype, mask)


def _running(scan, neutral, input, dim, dtype, mask):
    mask, dim = _spread(scan.__name__, input, mask), _first_dim(scan.__name__, input, dim)
    return scan(_kept(input, mask, neutral), dim, dtype=dtype or input.dtype)


def softmax(input, dim, *, dtype=None, mask=None):
    return _soft(torch.softmax, input, dim, dtype, mask)


def log_softmax(input, dim, *, dtype=None, mask=None):
    return _soft(torch.log_softmax, input, dim, dtype, mask)


def softmin(input, dim, *, dtype=None, mask=None):
    return _soft(torch.softmax, -input, dim, dtype, mask)


def _soft(function, input, dim, dtype, mask):
    name, input = function.__name__, input if dtype is None else input.to(dtype)
    dim = _first_dim(name, input, dim)
    return function(_kept(input, _spread(name, input, mask), _least(name, input.dtype)), dim)


def normalize(input, ord, dim, *, eps=1e-12, dtype=None, mask=None):
    """Divided by the norm of what is named, or by `eps` where that is greater."""
    mask = _spread("normalize", input, mask)
    length = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return _kept(input, mask, 0) / length.clamp(min=eps)


def logaddexp(input, other, *, dtype=None, input_mask=None, other_mask=None):
    def one(x, mask):
        x = x if dtype is None else x.to(dtype)
        return _kept(x, _spread("logaddexp", x, mask), -math.inf)

    return torch.logaddexp(one(input, input_mask), one(other, other_mask))
