"""Initialisers: each writes into its tensor without being recorded, and returns it."""

import contextlib
import functools
import math
import threading
import warnings

from .. import _torch
from .._torch import empty_like, float64, randperm, where
from ..autograd import no_grad

_skips = threading.local()


@contextlib.contextmanager
def skipped():
    """Inside, initialisers of this thread write nothing."""
    _skips.on = True
    try:
        yield
    finally:
        _skips.on = False


def _initialiser(function):
    """Decorates a function that writes into its tensor without being recorded."""
    write = no_grad()(function)

    @functools.wraps(function)
    def initialise(tensor, *args, **named):
        return tensor if getattr(_skips, "on", False) else write(tensor, *args, **named)

    return initialise


_CONVOLUTIONS = {f"conv{t}{n}d" for t in ("", "_transpose") for n in (1, 2, 3)}


def calculate_gain(nonlinearity, param=None):
    """The factor that keeps the scale of activations across a non-linearity."""
    if nonlinearity in ("linear", "sigmoid") or nonlinearity in _CONVOLUTIONS:
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity == "selu":
        return 3.0 / 4
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def _calculate_fan_in_and_fan_out(tensor):
    if tensor.dim() < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
        )
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def _calculate_correct_fan(tensor, mode):
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return _calculate_fan_in_and_fan_out(tensor)[mode == "fan_out"]


@_initialiser
def uniform_(tensor, a=0.0, b=1.0, generator=None):
    """Uniform in [a, b)."""
    return tensor.uniform_(a, b, generator=generator)


@_initialiser
def normal_(tensor, mean=0.0, std=1.0, generator=None):
    """Normal with `mean` and `std`."""
    return tensor.normal_(mean, std, generator=generator)


@_initialiser
def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    """Normal cut to [a, b]: what falls outside is drawn again."""
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of "
            "values may be incorrect.",
            stacklevel=2,
        )

    def below(x):
        return (1 + math.erf((x - mean) / std / math.sqrt(2))) / 2

    draw = _from_normal if below(b) - below(a) > 0.3 else _from_uniform
    pending = draw(tensor, mean, std, a, b, generator)
    while pending.any():
        again = tensor.clone()
        still = draw(again, mean, std, a, b, generator)
        tensor.copy_(where(pending, again, tensor))
        pending = pending & still
    return tensor


def _from_normal(tensor, mean, std, a, b, generator):
    """Fills from the normal distribution; where it falls outside [a, b]."""
    tensor.normal_(mean, std, generator=generator)
    return (tensor < a) | (tensor > b)


def _from_uniform(tensor, mean, std, a, b, generator):
    """Fills from [a, b] where little of the normal lies there; what its density refuses."""
    tensor.uniform_(a, b, generator=generator)
    peak = ((max(a, min(mean, b)) - mean) / std) ** 2
    density = ((((tensor - mean) / std) ** 2 - peak) * -0.5).exp()
    return empty_like(tensor).uniform_(generator=generator) > density


@_initialiser
def constant_(tensor, val):
    """Every element `val`."""
    return tensor.fill_(val)


def ones_(tensor):
    """Every element 1."""
    return constant_(tensor, 1.0)


def zeros_(tensor):
    """Every element 0."""
    return constant_(tensor, 0.0)


@_initialiser
def eye_(tensor):
    """The identity matrix."""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return tensor.copy_(_torch.eye(*tensor.shape))


@_initialiser
def dirac_(tensor, groups=1):
    """Convolution weights that keep as many channels as they can."""
    if tensor.dim() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.size(0) % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    per_group = tensor.size(0) // groups
    middle = tuple(size // 2 for size in tensor.shape[2:])
    tensor.zero_()
    for group in range(groups):
        for d in range(min(per_group, tensor.size(1))):
            tensor[(group * per_group + d, d, *middle)] = 1
    return tensor


@_initialiser
def orthogonal_(tensor, gain=1, generator=None):
    """Rows or columns orthogonal and of length `gain`, with everything past the first dimension
    taken as one. Source: Saxe et al., 2013, arXiv 1312.6120."""
    if tensor.dim() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.size(0)
    flat = tensor.new_empty((rows, tensor.numel() // rows)).normal_(0, 1, generator=generator)
    wide = flat.size(0) < flat.size(1)
    found = _orthonormal((flat.t() if wide else flat).to(float64))
    return tensor.copy_((found.t() if wide else found).reshape(tensor.shape)).mul_(gain)


def _orthonormal(columns):
    """Columns made orthogonal to those before them, twice against rounding, and of length 1. Its
    triangle has a positive diagonal, which makes the distribution uniform (Mezzadri, 2006)."""
    found = columns.clone()
    for i in range(columns.size(1)):
        column, before = columns[:, i], found[:, :i]
        for _ in range(2 if i else 0):
            column = column - before.mv(before.t().mv(column))
        found[:, i] = column / column.norm()
    return found


@_initialiser
def sparse_(tensor, sparsity, std=0.01, generator=None):
    """Normal with deviation `std`, and a share `sparsity` of every column 0."""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    tensor.normal_(0, std, generator=generator)
    for column in range(columns):
        tensor[randperm(rows)[:zeros].to(tensor.device), column] = 0
    return tensor


@_initialiser
def xavier_uniform_(tensor, gain=1.0, generator=None):
    """Uniform in +-gain sqrt(6 / (fan_in + fan_out)). Source: Glorot and Bengio, 2010."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    bound = math.sqrt(3.0) * gain * math.sqrt(2.0 / (fan_in + fan_out))
    return tensor.uniform_(-bound, bound, generator=generator)


@_initialiser
def xavier_normal_(tensor, gain=1.0, generator=None):
    """Normal with deviation gain sqrt(2 / (fan_in + fan_out)). Source: Glorot and Bengio, 2010."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return tensor.normal_(0.0, gain * math.sqrt(2.0 / (fan_in + fan_out)), generator=generator)


@_initialiser
def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Uniform in +-gain sqrt(3 / fan). Source: He et al., 2015, arXiv 1502.01852."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=2)
        return tensor
    bound = (
        math.sqrt(3.0)
        * calculate_gain(nonlinearity, a)
        / math.sqrt(_calculate_correct_fan(tensor, mode))
    )
    return tensor.uniform_(-bound, bound, generator=generator)


@_initialiser
def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Normal with deviation gain / sqrt(fan). Source: He et al., 2015, arXiv 1502.01852."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=2)
        return tensor
    return tensor.normal_(
        0,
        calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode)),
        generator=generator,
    )


def _old_name(current):
    old = current.__name__[:-1]

    @functools.wraps(current)
    def run(*args, **kwargs):
        warnings.warn(
            f"`nn.init.{old}` is now deprecated in favor of `nn.init.{current.__name__}`.",
            FutureWarning,
            stacklevel=2,
        )
        return current(*args, **kwargs)

    run.__name__ = old
    return run


uniform, normal, constant, eye, dirac = map(_old_name, (uniform_, normal_, constant_, eye_, dirac_))
xavier_uniform, xavier_normal = map(_old_name, (xavier_uniform_, xavier_normal_))
kaiming_uniform, kaiming_normal = map(_old_name, (kaiming_uniform_, kaiming_normal_))
orthogonal, sparse = map(_old_name, (orthogonal_, sparse_))
