"""RAdam, one fused step per group. Source: Liu et al., 2019, arXiv 1908.03265."""

from .._call import _fast
from ._rule import RuleOptimizer, arguments


class RAdam(RuleOptimizer):
    """Adam whose rate is rectified while its variance cannot be known yet."""

    _function = _fast.flam_radam_step
    _lists = ("exp_avg", "exp_avg_sq", "step")
    _first = {"step": 0.0, "exp_avg": 0.0, "exp_avg_sq": 0.0}
    _numbers = ("lr", "betas", "eps", "weight_decay", "decoupled_weight_decay", "maximize")
    _order = (
        "lr betas eps weight_decay maximize foreach capturable decoupled_weight_decay "
        "differentiable"
    )

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0,
                 decoupled_weight_decay=False, *, foreach=None, maximize=False, capturable=False,
                 differentiable=False):  # fmt: skip
        super().__init__(**arguments(locals()))
