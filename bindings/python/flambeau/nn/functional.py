"""`torch.nn.functional`: the generated functions, and the few that are compositions of them."""

from .._gen import ops as _ops
from . import _attention, _lookup, _pooling, _resampling

globals().update(_ops.FUNCTIONAL)
for _part in _attention, _lookup, _pooling, _resampling:
    globals().update(_part.FUNCTIONS)
for _name in "celu", "elu", "hardtanh", "leaky_relu", "relu", "rrelu", "selu", "threshold":
    globals()[_name + "_"] = getattr(_ops, f"_{_name}_")
del _part, _name


def softmin(input, dim=None, dtype=None):
    """`softmax(-input)`."""
    return _ops.FUNCTIONAL["softmax"](-input, dim, dtype=dtype)


def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """A sample of one of the classes that can be differentiated; one-hot where `hard`."""
    return _ops.FUNCTIONAL["gumbel_softmax"](logits, tau, hard, eps, dim)


def _channel_dropout(n):
    def dropout(input, p=0.5, training=True, inplace=False):
        """Zeroes whole channels with probability `p` and scales the others by 1 / (1 - p)."""
        if p < 0.0 or p > 1.0:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        drop = _ops._feature_dropout_ if inplace else _ops._feature_dropout
        if input.dim() == n + 1 and n != 2:
            return drop(input.unsqueeze(0), p, training).squeeze(0)
        return drop(input, p, training)

    dropout.__name__ = dropout.__qualname__ = f"dropout{n}d"
    return dropout


dropout1d, dropout2d, dropout3d = (_channel_dropout(n) for n in (1, 2, 3))


def triplet_margin_with_distance_loss(
    anchor,
    positive,
    negative,
    *,
    distance_function=None,
    margin=1.0,
    swap=False,
    reduction="mean",
):
    """The triplet loss of any distance."""
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    distance = distance_function or _ops.FUNCTIONAL["pairwise_distance"]
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = _ops._minimum(far, distance(positive, negative))
    losses = (near - far + margin).clamp(min=0)
    return losses.mean() if reduction == "mean" else losses.sum() if reduction == "sum" else losses


def __getattr__(name):
    raise AttributeError(f"module 'torch.nn.functional' has no attribute '{name}' in flambeau")
