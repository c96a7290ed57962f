"""RMSprop, one fused step per group. Source: Hinton, 2012, lecture 6 of Neural Networks for Machine
Learning; Graves, 2013, arXiv 1308.0850, for the centered form."""

from ._rule import RuleOptimizer, arguments


class RMSprop(RuleOptimizer):
    """Steps by the gradient over the root of its running mean square."""

    _name = "RMSprop"
    _since = {"momentum": 0, "centered": False}
    _order = (
        "lr momentum alpha eps centered weight_decay capturable foreach maximize differentiable"
    )

    def __init__(self, params, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0,
                 centered=False, capturable=False, foreach=None, maximize=False,
                 differentiable=False):  # fmt: skip
        super().__init__(**arguments(locals()))
