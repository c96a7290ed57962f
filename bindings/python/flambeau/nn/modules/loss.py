"""Losses as modules. Each calls its functional form with the options it holds.

`size_average` and `reduce`, which torch deprecated in favour of `reduction`, are still understood.
"""

from math import prod

from ..._deprecated import reduction_of
from .. import functional as F
from .linear import Linear
from .module import Module


class _Loss(Module):
    """Hands operands on to the function of its name, with the attributes that are its options."""

    _function = ""
    _options = ()

    def __init__(self, size_average=None, reduce=None, reduction="mean"):
        super().__init__()
        old = size_average is not None or reduce is not None
        self.reduction = reduction_of(size_average, reduce, 4) if old else reduction

    def forward(self, *operands, **named):
        options = {name: getattr(self, name) for name in self._options}
        function = getattr(F, self._function)
        return function(*operands, **named, **options, reduction=self.reduction)


class _WeightedLoss(_Loss):
    _options = ("weight",)

    def __init__(self, weight=None, size_average=None, reduce=None, reduction="mean"):
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class MSELoss(_Loss):
    """Mean squared error."""

    _function = "mse_loss"


class L1Loss(_Loss):
    """Mean absolute error."""

    _function = "l1_loss"


class SmoothL1Loss(_Loss):
    """Squared below `beta`, absolute above."""

    _function, _options = "smooth_l1_loss", ("beta",)

    def __init__(self, size_average=None, reduce=None, reduction="mean", beta=1.0):
        super().__init__(size_average, reduce, reduction)
        self.beta = beta


class HuberLoss(_Loss):
    """Squared below `delta`, absolute above, scaled by `delta`."""

    _function, _options = "huber_loss", ("delta",)

    def __init__(self, reduction="mean", delta=1.0):
        super().__init__(reduction=reduction)
        self.delta = delta


class NLLLoss(_WeightedLoss):
    """Negative log likelihood of class indices, given log-probabilities."""

    _function, _options = "nll_loss", ("weight", "ignore_index")

    def __init__(
        self, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"
    ):
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index


class NLLLoss2d(NLLLoss):
    """torch's old name of NLLLoss for images."""


class CrossEntropyLoss(_WeightedLoss):
    """Cross-entropy of logits with class indices or probabilities."""

    _function, _options = "cross_entropy", ("weight", "ignore_index", "label_smoothing")

    def __init__(self, weight=None, size_average=None, ignore_index=-100, reduce=None,
                 reduction="mean", label_smoothing=0.0):  # fmt: skip
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing


class BCELoss(_WeightedLoss):
    """Binary cross-entropy of probabilities."""

    _function = "binary_cross_entropy"


class BCEWithLogitsLoss(_WeightedLoss):
    """Binary cross-entropy of logits."""

    _function, _options = "binary_cross_entropy_with_logits", ("weight", "pos_weight")

    def __init__(
        self, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None
    ):
        super().__init__(weight, size_average, reduce, reduction)
        self.register_buffer("pos_weight", pos_weight)


class KLDivLoss(_Loss):
    """Kullback-Leibler divergence, given log-probabilities."""

    _function, _options = "kl_div", ("log_target",)

    def __init__(self, size_average=None, reduce=None, reduction="mean", log_target=False):
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target


class PoissonNLLLoss(_Loss):
    """Negative log likelihood of counts, given rates or their logarithms."""

    _function, _options = "poisson_nll_loss", ("log_input", "full", "eps")

    def __init__(
        self, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction="mean"
    ):
        super().__init__(size_average, reduce, reduction)
        self.log_input, self.full, self.eps = log_input, full, eps

    def forward(self, log_input, target):
        return super().forward(log_input, target)


class GaussianNLLLoss(_Loss):
    """Negative log likelihood of normal numbers, given means and variances."""

    _function, _options = "gaussian_nll_loss", ("full", "eps")

    def __init__(self, *, full=False, eps=1e-6, reduction="mean"):
        super().__init__(reduction=reduction)
        self.full, self.eps = full, eps


class CTCLoss(_Loss):
    """How unlikely sequences of labels are, whatever steps of the inputs they belong to."""

    _function, _options = "ctc_loss", ("blank", "zero_infinity")

    def __init__(self, blank=0, reduction="mean", zero_infinity=False):
        super().__init__(reduction=reduction)
        self.blank, self.zero_infinity = blank, zero_infinity


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
