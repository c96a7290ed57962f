"""RAdam, one fused step per group. Source: Liu et al., 2019, arXiv 1908.03265."""

from ._rule import RuleOptimizer, arguments


class RAdam(RuleOptimizer):
    """Adam whose rate is rectified while its variance cannot be known yet."""

    _name = "RAdam"
    _order = (
        "lr betas eps weight_decay maximize foreach capturable decoupled_weight_decay "
        "differentiable"
    )

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0,
                 decoupled_weight_decay=False, *, foreach=None, maximize=False, capturable=False,
                 differentiable=False):  # fmt: skip
        super().__init__(**arguments(locals()))
