"""A convolution in a Sequential with the batch norm and the ReLU behind it, as one pass.

Only where nobody sees a difference but of the last digits: no gradient is recorded, the norm uses
its running statistics, no hook wants what is between, and classes, functions and tensors are
torch's own, which a program may put others in the place of."""

from ..._gen import api
from ..._tensor import Tensor
from ..._torch import is_grad_enabled
from .. import functional as F
from ..parameter import Parameter
from .batchnorm import BatchNorm1d, BatchNorm2d, BatchNorm3d
from .conv import Conv1d, Conv2d, Conv3d
from .simple import ReLU

NORM_OF = {Conv1d: BatchNorm1d, Conv2d: BatchNorm2d, Conv3d: BatchNorm3d}
_OWN = Parameter, Tensor, type(None)
_FUNCTION = {Conv1d: "conv1d", Conv2d: "conv2d", Conv3d: "conv3d", ReLU: "relu"}
_FUNCTION |= dict.fromkeys(NORM_OF.values(), "batch_norm")


def _work(cls):
    """What does the work of a class's instances."""
    return cls.__call__, cls.forward, getattr(F, _FUNCTION[cls])


_WORK = {cls: _work(cls) for cls in _FUNCTION}


def _is_plain(module):
    own = module.__dict__
    replaced = "forward" in own or "_function" in own
    return (
        not replaced
        and not module._is_hooked()
        and _work(module.__class__) == _WORK[module.__class__]
    )


def _folds(norm, conv):
    """Whether the norm is a scale and a shift of the convolution's results."""
    channels = (conv.out_channels,)
    statistics = norm.running_mean, norm.running_var
    return (
        not norm.training
        and norm.eps > 0
        and all(t.__class__ is Tensor and t.shape == channels for t in statistics)
        and all(
            t is None or t.__class__ in _OWN and t.shape == channels
            for t in (norm.weight, norm.bias)
        )
        and _is_plain(norm)
    )


def one_pass(modules, i, input):
    """The result of the convolution modules[i] with those behind it that join it, and which is the
    first that does not; None where none does."""
    conv, end = modules[i], i + 1
    if is_grad_enabled() or input.__class__ is not Tensor or input.dim() != conv._n + 2:
        return None
    norm = modules[end] if end < len(modules) else None
    if norm.__class__ is not NORM_OF[conv.__class__] or not _folds(norm, conv):
        norm = None
    end += norm is not None
    last = modules[end] if end < len(modules) else None
    relu = last.__class__ is ReLU and _is_plain(last)
    end += relu
    if end == i + 1 or not _is_plain(conv) or conv.padding_mode != "zeros":
        return None
    if conv.weight.__class__ not in _OWN or conv.bias.__class__ not in _OWN:
        return None
    padding = conv._sides()
    if any(side.__class__ is not int for side in padding):
        return None

    def forward(input):
        normed = (
            (None,) * 4
            if norm is None
            else (norm.running_mean, norm.running_var, norm.weight, norm.bias)
        )
        where = (conv.stride, padding, conv.dilation, conv.groups)
        eps = 1e-5 if norm is None else norm.eps
        return api.conv_norm(input, conv.weight, conv.bias, *normed, *where, eps, relu)

    return conv._named(forward, input), end
