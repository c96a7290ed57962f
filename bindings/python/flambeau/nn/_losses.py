"""Losses with torch's positions of the deprecated flags.

The library's losses take `reduction` only; these forms put `size_average` and `reduce` where old
programs pass them."""

import functools

from .._deprecated import reduction_of
from .._factory import tensor
from .._gen import ops as _ops
from .._types import NAMES

_FLAGS = "size_average", "reduce", "reduction"
# What follows the operands, in torch's order.
_ORDER = {
    "mse_loss": (*_FLAGS, "weight"),
    "l1_loss": (*_FLAGS, "weight"),
    "smooth_l1_loss": (*_FLAGS, "beta"),
    "huber_loss": ("reduction", "delta", "weight"),
    "cross_entropy": "weight size_average ignore_index reduce reduction label_smoothing".split(),
    "nll_loss": ("weight", "size_average", "ignore_index", "reduce", "reduction"),
    "binary_cross_entropy": ("weight", *_FLAGS),
    "binary_cross_entropy_with_logits": ("weight", *_FLAGS, "pos_weight"),
    "kl_div": (*_FLAGS, "log_target"),
    "margin_ranking_loss": ("margin", *_FLAGS),
    "hinge_embedding_loss": ("margin", *_FLAGS),
    "cosine_embedding_loss": ("margin", *_FLAGS),
    "triplet_margin_loss": ("margin", "p", "eps", "swap", *_FLAGS),
    "soft_margin_loss": _FLAGS,
    "multi_margin_loss": ("p", "margin", "weight", *_FLAGS),
    "multilabel_margin_loss": _FLAGS,
    "multilabel_soft_margin_loss": ("weight", *_FLAGS),
    "poisson_nll_loss": ("log_input", "full", "size_average", "eps", "reduce", "reduction"),
}
_WEIGHTED = "mse_loss", "l1_loss", "huber_loss"  # in Python: the library's take no weights


def _weighted(function, args, options):
    """Losses times the weights of their elements; the mean is over what they weigh, but of a huber
    loss over their number, as in torch."""
    weight, reduction = options.pop("weight"), options.pop("reduction", "mean")
    if weight.shape != (args[0] if args else options["input"]).shape:
        raise ValueError("Weights and input must have the same size.")
    losses = function(*args, **options, reduction="none") * weight
    if reduction == "none":
        return losses
    if reduction == "sum":
        return losses.sum()
    if reduction != "mean":
        raise ValueError(
            f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'."
        )
    return losses.mean() if function.__name__ == "huber_loss" else losses.sum() / weight.sum()


def _made(name):
    function, order = _ops.FUNCTIONAL[name], _ORDER.get(name)
    code = function.__code__
    elements = name in _WEIGHTED
    n = code.co_argcount - sum(p in (order or ()) for p in code.co_varnames[: code.co_argcount])

    @functools.wraps(function)
    def loss(*args, **options):
        if order is not None:
            if len(args) > n:
                if len(args) > n + len(order):
                    raise TypeError(
                        f"{name}() takes at most {n + len(order)} positional arguments but "
                        f"{len(args)} were given"
                    )
                options.update(zip(order, args[n:]))
                args = args[:n]
            average, reduce = options.pop("size_average", None), options.pop("reduce", None)
            if average is not None or reduce is not None:
                options["reduction"] = reduction_of(average, reduce)
        weighted = elements and options.get("weight") is not None
        if elements and not weighted:
            options.pop("weight", None)
        return _weighted(function, args, options) if weighted else function(*args, **options)

    return loss


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean",
             zero_infinity=False):  # fmt: skip
    """How unlikely sequences of labels are, whatever steps of the inputs they belong to."""
    lengths = (
        n if hasattr(n, "_h") else tensor(n, dtype=NAMES["int64"], device="cpu")
        for n in (input_lengths, target_lengths)
    )
    return _ops._ctc_loss(log_probs, targets, *lengths, blank, reduction, zero_infinity)


FUNCTIONS = {name: _made(name) for name in _ORDER}
FUNCTIONS["ctc_loss"] = ctc_loss
