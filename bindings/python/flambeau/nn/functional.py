"""`torch.nn.functional`: the generated functions, and the few that are compositions of them."""

from .. import _deprecated
from .._gen import ops as _ops
from .._on_demand import called as _called
from .._on_demand import loader as _loader
from .._on_demand import shown as _shown
from . import (
    _attention,
    _convolution,
    _linear_cross_entropy,
    _lookup,
    _losses,
    _pooling,
    _resampling,
)
from ._resampling import GRID_SAMPLE_INTERPOLATION_MODES, GRID_SAMPLE_PADDING_MODES

globals().update(_ops.FUNCTIONAL)
_parts = _attention, _convolution, _linear_cross_entropy, _lookup, _losses, _pooling, _resampling
for _part in _parts:
    globals().update(_part.FUNCTIONS)
for _name in "celu", "elu", "hardtanh", "leaky_relu", "relu", "rrelu", "selu", "threshold":
    globals()[_name + "_"] = getattr(_ops, f"_{_name}_")
del _part, _parts, _name


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    """`exp(x)`, divided by its sum along `dim`; without one torch's old choice, with a warning."""
    if dim is None:
        dim = _deprecated.softmax_dim("softmax", input.dim())
    return _ops._softmax(input, dim, dtype=dtype)


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """The logarithm of `softmax`."""
    if dim is None:
        dim = _deprecated.softmax_dim("log_softmax", input.dim())
    return _ops._log_softmax(input, dim, dtype=dtype)


def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """`softmax(-input)`."""
    if dim is None:
        dim = _deprecated.softmax_dim("softmin", input.dim())
    return _ops._softmax(-input, dim, dtype=dtype)


def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """A sample of one of the classes that can be differentiated; one-hot where `hard`."""
    return _ops.FUNCTIONAL["gumbel_softmax"](logits, tau, hard, eps, dim)


def _warn_of_dropout(n, dim):
    if n == 1 and dim not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {dim}D input. Note that dropout1d "
            "exists to provide channel-wise dropout on inputs with 1 spatial dimension, a channel "
            "dimension, and an optional batch dimension (i.e. 2D or 3D inputs)."
        )
    if n == 2 and dim == 3:
        _deprecated.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout "
            "behavior is desired - input is interpreted as shape (N, C, L), where C is the channel "
            "dim. This behavior will change in a future release to interpret the input as one "
            "without a batch dimension, i.e. shape (C, H, W). To maintain the 1D channel-wise "
            "dropout behavior, please switch to using dropout1d instead."
        )
    elif n > 1 and dim not in (n + 1, n + 2):
        _deprecated.warn(
            f"dropout{n}d: Received a {dim}-D input to dropout{n}d, which is deprecated and will "
            "result in an error in a future release. To retain the behavior and silence this "
            f"warning, please use dropout instead. Note that dropout{n}d exists to provide "
            f"channel-wise dropout on inputs with {n} spatial dimensions, a channel dimension, and "
            f"an optional batch dimension (i.e. {n + 1}D or {n + 2}D inputs)."
        )


def _channel_dropout(n):
    def dropout(input, p=0.5, training=True, inplace=False):
        """Zeroes whole channels with probability `p` and scales the others by 1 / (1 - p)."""
        _warn_of_dropout(n, input.dim())
        drop = _ops._feature_dropout_ if inplace else _ops._feature_dropout
        if input.dim() == n + 1 and n != 2:
            return drop(input.unsqueeze(0), p, training).squeeze(0)
        return drop(input, p, training)

    dropout.__name__ = dropout.__qualname__ = f"dropout{n}d"
    return dropout


def _off_unless_asked(plain):
    def dropout(input, p=0.5, training=False, inplace=False):
        return plain(input, p, training, inplace)

    return _called(dropout, plain.__name__, plain.__doc__)


alpha_dropout = _off_unless_asked(_ops.FUNCTIONAL["alpha_dropout"])
feature_alpha_dropout = _off_unless_asked(_ops.FUNCTIONAL["feature_alpha_dropout"])
dropout1d, dropout2d, dropout3d = (_channel_dropout(n) for n in (1, 2, 3))


def triplet_margin_with_distance_loss(
    anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False, reduction="mean"
):
    """The triplet loss of any distance."""
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of "
            f"dimensions, but got: anchor {anchor.dim()}D, positive {positive.dim()}D, and "
            f"negative {negative.dim()}D inputs"
        )
    distance = distance_function or _ops.FUNCTIONAL["pairwise_distance"]
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = _ops._minimum(far, distance(positive, negative))
    losses = (near - far + margin).clamp(min=0)
    return losses.mean() if reduction == "mean" else losses.sum() if reduction == "sum" else losses


__getattr__ = _loader(globals(), {}, "grad", "torch.nn.functional")


globals().update(
    {n: _shown(f, __name__, n) for n, f in list(globals().items()) if not n.startswith("_")}
)
