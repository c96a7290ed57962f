"""ASGD, one fused step per group. Source: Polyak and Juditsky, 1992, SIAM J. Control Optim. 30."""

from ._rule import RuleOptimizer, arguments


class ASGD(RuleOptimizer):
    """Gradient descent with a falling rate and an average of the parameters in `ax`."""

    _name = "ASGD"

    def __init__(self, params, lr=1e-2, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0,
                 foreach=None, maximize=False, differentiable=False, capturable=False):  # fmt: skip
        super().__init__(**arguments(locals()))
