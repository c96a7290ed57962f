"""Rprop, one fused step per group. Source: Riedmiller and Braun, 1993, ICNN."""

from ._rule import RuleOptimizer, arguments
from .optimizer import check


class Rprop(RuleOptimizer):
    """Steps by the sign of the gradient; each element's step grows or shrinks as the sign stays or
    turns."""

    _name = "Rprop"
    _order = "lr etas step_sizes foreach maximize differentiable capturable"

    def __init__(self, params, lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50), *, capturable=False,
                 foreach=None, maximize=False, differentiable=False):  # fmt: skip
        check("eta values", f"{etas[0]}, {etas[1]}", 0.0 < etas[0] < 1.0 < etas[1])
        super().__init__(**arguments(locals()))
