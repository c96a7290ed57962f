"""NAdam, one fused step per group. Source: Dozat, 2016, ICLR workshop."""

from ._rule import RuleOptimizer, arguments


class NAdam(RuleOptimizer):
    """Adam with Nesterov's momentum."""

    _name = "NAdam"
    _order = (
        "lr betas eps weight_decay momentum_decay decoupled_weight_decay maximize foreach "
        "capturable differentiable"
    )

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0,
                 momentum_decay=4e-3, decoupled_weight_decay=False, *, foreach=None, maximize=False,
                 capturable=False, differentiable=False):  # fmt: skip
        super().__init__(**arguments(locals()))
