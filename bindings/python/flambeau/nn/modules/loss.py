"""Losses as modules. Each calls its functional form with the options it holds.

`size_average` and `reduce`, which torch deprecated in favour of `reduction`, are still understood.
"""

from math import prod

from ..._deprecated import reduction_of
from ..._signed import kind, parameters
from .. import functional as F
from .linear import Linear
from .module import Module

_REDUCTION = "size_average", "reduce", "reduction"


class _Loss(Module):
    """Hands operands on to the function of its name, with the attributes that are its options."""

    _function = ""
    _options = ()

    def __init__(self, size_average=None, reduce=None, reduction="mean"):
        super().__init__()
        old = size_average is not None or reduce is not None
        self.reduction = reduction_of(size_average, reduce) if old else reduction

    def forward(self, *operands, **named):
        options = {name: getattr(self, name) for name in self._options}
        function = getattr(F, self._function)
        return function(*operands, **named, **options, reduction=self.reduction)


class _WeightedLoss(_Loss):
    _options = ("weight",)

    def __init__(self, weight=None, size_average=None, reduce=None, reduction="mean"):
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


def loss(function):
    """Makes a loss of a function with the signature of its constructor: the class holds the
    arguments, those that weight as buffers, and hands them to the functional form named here."""

    def make(signature):
        names = parameters(signature)
        options = tuple(n for n in names if n not in _REDUCTION)
        base = _WeightedLoss if "weight" in names else _Loss
        members = {"_function": function, "_options": options}
        return kind(signature.__name__, base, signature, _begin, **members)

    return make


def _begin(above, self, given):
    above(**{n: given.pop(n) for n in ("weight", *_REDUCTION) if n in given})
    for option, value in given.items():
        if option == "pos_weight":
            self.register_buffer(option, value)
        else:
            setattr(self, option, value)


@loss("mse_loss")
def MSELoss(self, size_average=None, reduce=None, reduction="mean"):
    """Mean squared error."""


@loss("l1_loss")
def L1Loss(self, size_average=None, reduce=None, reduction="mean"):
    """Mean absolute error."""


@loss("smooth_l1_loss")
def SmoothL1Loss(self, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """Squared below `beta`, absolute above."""


@loss("huber_loss")
def HuberLoss(self, reduction="mean", delta=1.0):
    """Squared below `delta`, absolute above, scaled by `delta`."""
    if not isinstance(delta, (int, float)):
        raise TypeError(f"delta must be a float or int, got: {type(delta)}")


@loss("nll_loss")
def NLLLoss(self, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    """Negative log likelihood of class indices, given log-probabilities."""


class NLLLoss2d(NLLLoss):
    """torch's old name of NLLLoss for images."""


@loss("cross_entropy")
def CrossEntropyLoss(self, weight=None, size_average=None, ignore_index=-100, reduce=None,
                     reduction="mean", label_smoothing=0.0):  # fmt: skip
    """Cross-entropy of logits with class indices or probabilities."""


@loss("binary_cross_entropy")
def BCELoss(self, weight=None, size_average=None, reduce=None, reduction="mean"):
    """Binary cross-entropy of probabilities."""


@loss("binary_cross_entropy_with_logits")
def BCEWithLogitsLoss(
    self, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None
):
    """Binary cross-entropy of logits."""


@loss("kl_div")
def KLDivLoss(self, size_average=None, reduce=None, reduction="mean", log_target=False):
    """Kullback-Leibler divergence, given log-probabilities."""


@loss("poisson_nll_loss")
def PoissonNLLLoss(
    self, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction="mean"
):
    """Negative log likelihood of counts, given rates or their logarithms."""


# Its operand is called as one of its options is.
PoissonNLLLoss.forward = lambda self, log_input, target: _Loss.forward(self, log_input, target)


@loss("gaussian_nll_loss")
def GaussianNLLLoss(self, *, full=False, eps=1e-6, reduction="mean"):
    """Negative log likelihood of normal numbers, given means and variances."""


@loss("ctc_loss")
def CTCLoss(self, blank=0, reduction="mean", zero_infinity=False):
    """How unlikely sequences of labels are, whatever steps of the inputs they belong to."""


class LinearCrossEntropyLoss(_WeightedLoss):
    """Cross-entropy of what a linear layer of its own makes of the input."""

    _function = "linear_cross_entropy"
    _options = ("weight", "ignore_index", "label_smoothing", "options")

    def __init__(self, in_features, num_classes, *, out_features=(), bias=False, device=None,
                 dtype=None, reduction="mean", weight=None, ignore_index=None, label_smoothing=0.0,
                 options=None):  # fmt: skip
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise RuntimeError(
                f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}"
            )
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(
                f"expected label_smoothing to be in range [0, 1], got {label_smoothing}"
            )
        super().__init__(weight, reduction=reduction)
        self.num_classes, self.out_features = num_classes, tuple(out_features)
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing
        self.options = options
        rows = prod(self.out_features, start=num_classes)
        self.linear = Linear(in_features, rows, bias=bias, device=device, dtype=dtype)

    def forward(self, input, target):
        shape = (self.num_classes, *self.out_features)
        weight, bias = self.linear.weight, self.linear.bias
        weight = weight.reshape(*shape, self.linear.in_features)
        bias = bias if bias is None else bias.reshape(shape)
        return super().forward(input, weight, target, linear_bias=bias)

    def extra_repr(self):
        names = "reduction", "ignore_index", "label_smoothing", "options"
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, "
            f"out_features={self.out_features}, bias={self.linear.bias is not None}, "
            + ", ".join(f"{name}={getattr(self, name)}" for name in names)
        )
