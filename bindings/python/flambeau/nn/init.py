"""Initialisers: each writes into its tensor without being recorded, and returns it. The formulas
are the library's; here are torch's names, defaults and warnings."""

import contextlib
import functools

from .._deprecated import renamed, warn
from .._gen import api
from .._on_demand import called
from .._thread_state import ThreadState

_skips = ThreadState(on=False)


@contextlib.contextmanager
def skipped():
    """Inside, initialisers of this thread write nothing."""
    _skips.on = True
    try:
        yield
    finally:
        _skips.on = False


def _initialiser(write):
    """Decorates a function that writes into its tensor."""

    @functools.wraps(write)
    def initialise(tensor, *args, **named):
        of_parts = getattr(tensor, "_fill_whole", None)
        if not _skips.on and of_parts is not None:
            of_parts(write, *args, **named)
        elif not _skips.on:
            write(tensor, *args, **named)
        return tensor

    return initialise


def _of_library(write):
    """The library's initialiser under torch's name."""
    made = called(_initialiser(write), write.__name__.removeprefix("init_") + "_")
    made.__module__ = __name__
    return made


uniform_, normal_ = map(_of_library, (api.init_uniform, api.init_normal))
eye_, dirac_ = map(_of_library, (api.init_eye, api.init_dirac))
orthogonal_, sparse_ = map(_of_library, (api.init_orthogonal, api.init_sparse))
xavier_uniform_ = _of_library(api.init_xavier_uniform)
xavier_normal_ = _of_library(api.init_xavier_normal)

_LINEAR = {f"conv{t}{n}d" for t in ("", "_transpose") for n in (1, 2, 3)} | {"linear", "sigmoid"}


def calculate_gain(nonlinearity, param=None):
    """The factor that keeps the scale of activations across a non-linearity."""
    if nonlinearity in _LINEAR:
        return 1
    if nonlinearity not in ("tanh", "relu", "leaky_relu", "selu"):
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    if nonlinearity != "leaky_relu" or param is None:
        return api.init_gain(nonlinearity)
    if isinstance(param, bool) or not isinstance(param, (int, float)):
        raise ValueError(f"negative_slope {param} not a valid number")
    return api.init_gain(nonlinearity, param)


def _calculate_fan_in_and_fan_out(tensor):
    return api.init_fans(tensor)


def _fan(mode):
    """The library's word for torch's."""
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return mode[4:]


def _calculate_correct_fan(tensor, mode):
    return api.init_fans(tensor)[_fan(mode) == "out"]


@_initialiser
def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    """Normal cut to [a, b]."""
    if mean < a - 2 * std or mean > b + 2 * std:
        warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of "
            "values may be incorrect."
        )
    api.init_trunc_normal(tensor, mean, std, a, b, generator)


@_initialiser
def constant_(tensor, val):
    """Every element `val`."""
    tensor.detach().fill_(val)  # which may be a tensor, too


def ones_(tensor):
    """Every element 1."""
    return constant_(tensor, 1.0)


def zeros_(tensor):
    """Every element 0."""
    return constant_(tensor, 0.0)


def _kaiming(draw, tensor, a, mode, nonlinearity, generator):
    if 0 in tensor.shape:
        warn("Initializing zero-element tensors is a no-op")
        return
    draw(tensor, calculate_gain(nonlinearity, a), _fan(mode), generator)


@_initialiser
def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Uniform in +-gain sqrt(3 / fan). Source: He et al., 2015, arXiv 1502.01852."""
    _kaiming(api.init_kaiming_uniform, tensor, a, mode, nonlinearity, generator)


@_initialiser
def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Normal with deviation gain / sqrt(fan). Source: He et al., 2015, arXiv 1502.01852."""
    _kaiming(api.init_kaiming_normal, tensor, a, mode, nonlinearity, generator)


@_initialiser
def _table_(weight, padding_idx=None):
    """As embeddings begin: normal, but for the row that pads."""
    api.init_normal(weight)
    if padding_idx is not None:
        weight.detach()[padding_idx].fill_(0)


@_initialiser
def _affine_(weight, bias=None):
    """As Linear and convolutions begin: both uniform in +-1/sqrt(fan_in)."""
    if 0 in weight.shape:
        warn("Initializing zero-element tensors is a no-op")
    api.init_affine(weight, bias)


def _old_name(current):
    new, old = current.__name__, current.__name__[:-1]
    text = f"`nn.init.{old}` is now deprecated in favor of `nn.init.{new}`."
    return renamed(current, old, text)


uniform, normal, constant, eye, dirac = map(_old_name, (uniform_, normal_, constant_, eye_, dirac_))
xavier_uniform, xavier_normal = map(_old_name, (xavier_uniform_, xavier_normal_))
kaiming_uniform, kaiming_normal = map(_old_name, (kaiming_uniform_, kaiming_normal_))
orthogonal, sparse = map(_old_name, (orthogonal_, sparse_))
