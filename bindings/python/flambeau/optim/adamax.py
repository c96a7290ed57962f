"""Adamax, one fused step per group. Source: Kingma and Ba, 2014, arXiv 1412.6980."""

from ._rule import RuleOptimizer, arguments


class Adamax(RuleOptimizer):
    """Adam by the infinity norm: steps by the first moment over the greatest gradient."""

    _name = "Adamax"

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, foreach=None,
                 *, maximize=False, differentiable=False, capturable=False):  # fmt: skip
        super().__init__(**arguments(locals()))
