"""Adam and AdamW, one fused step per group. Source: Kingma and Ba, 2014, arXiv 1412.6980;
Loshchilov and Hutter, 2017, arXiv 1711.05101."""

from .._tensor import Tensor
from ._rule import RuleOptimizer, arguments


class Adam(RuleOptimizer):
    """Steps by the first moment over the root of the second, both corrected for their start at
    zero."""

    _name = "Adam"
    _since = {"amsgrad": False, "decoupled_weight_decay": False}
    _order = (
        "lr betas eps weight_decay amsgrad maximize foreach capturable differentiable "
        "fused decoupled_weight_decay"
    )

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False,
                 *, foreach=None, maximize=False, capturable=False, differentiable=False,
                 fused=None, decoupled_weight_decay=False):  # fmt: skip
        _check_tensors(lr, betas, foreach, capturable)
        betas = tuple(float(beta) for beta in betas)
        super().__init__(**arguments(locals()))


class AdamW(Adam):
    """Adam whose weight decay does not go through the moments."""

    _name = "AdamW"
    _since = {"amsgrad": False, "decoupled_weight_decay": True}

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2,
                 amsgrad=False, *, maximize=False, foreach=None, capturable=False,
                 differentiable=False, fused=None):  # fmt: skip
        super().__init__(**arguments(locals()), decoupled_weight_decay=True)


def _check_tensors(lr, betas, foreach, capturable):
    """Tensors as options: one element each, and not where a list of tensors is asked for."""
    each_alone = foreach and not capturable
    if isinstance(lr, Tensor) and each_alone:
        raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
    kinds = [isinstance(beta, Tensor) for beta in betas]
    if any(kinds) and not all(kinds):
        raise ValueError("betas must be either both floats or both Tensors")
    for i, beta in enumerate(betas if any(kinds) else ()):
        if each_alone:
            raise ValueError(
                f"betas[{i}] as a Tensor is not supported for capturable=False and foreach=True"
            )
        if beta.numel() != 1:
            raise ValueError(f"Tensor betas[{i}] must be 1-element")
