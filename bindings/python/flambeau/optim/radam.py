"""RAdam, one fused step per group. Source: Liu et al., 2019, arXiv 1908.03265."""

from .._call import _fast
from ._rule import RuleOptimizer
from ._state import cell
from .optimizer import check, check_betas, check_lr, zeros_like


class RAdam(RuleOptimizer):
    """Adam whose rate is rectified while its variance cannot be known yet."""

    _function = _fast.flam_radam_step
    _lists = ("exp_avg", "exp_avg_sq", "step")

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        decoupled_weight_decay=False,
        *,
        foreach=None,
        maximize=False,
        capturable=False,
        differentiable=False,
    ):
        check_lr(lr)
        check("epsilon value", eps, 0.0 <= eps)
        check_betas(betas)
        check("weight_decay value", weight_decay, 0.0 <= weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _numbers(self, group):
        return (
            float(group["lr"]),
            *group["betas"],
            group["eps"],
            group["weight_decay"],
            group["decoupled_weight_decay"],
            group["maximize"],
        )

    def _first_state(self, p, group):
        return {
            "step": cell(0.0, p),
            "exp_avg": zeros_like(p),
            "exp_avg_sq": zeros_like(p),
        }
