"""Adadelta, one fused step per group. Source: Zeiler, 2012, arXiv 1212.5701."""

from ._rule import RuleOptimizer, arguments
from .optimizer import check


class Adadelta(RuleOptimizer):
    """Steps by the gradient in the ratio of the running changes to the running gradients."""

    _name = "Adadelta"
    _order = "lr rho eps weight_decay maximize capturable foreach differentiable"

    def __init__(self, params, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0, foreach=None, *,
                 capturable=False, maximize=False, differentiable=False):  # fmt: skip
        check("rho value", rho, 0.0 <= rho <= 1.0)
        super().__init__(**arguments(locals()))
