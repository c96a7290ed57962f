"""Adamax, one fused step per group. Source: Kingma and Ba, 2014, arXiv 1412.6980."""

from .._call import _fast
from ._rule import RuleOptimizer
from ._state import cell
from .optimizer import check, check_betas, check_lr, zeros_like


class Adamax(RuleOptimizer):
    """Adam by the infinity norm: steps by the first moment over the greatest gradient."""

    _function = _fast.flam_adamax_step
    _lists = ("exp_avg", "exp_inf", "step")

    def __init__(
        self,
        params,
        lr=2e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        foreach=None,
        *,
        maximize=False,
        differentiable=False,
        capturable=False,
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
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _numbers(self, group):
        return (
            float(group["lr"]),
            *group["betas"],
            group["eps"],
            group["weight_decay"],
            group["maximize"],
        )

    def _first_state(self, p, group):
        return {
            "step": cell(0.0, p),
            "exp_avg": zeros_like(p),
            "exp_inf": zeros_like(p),
        }
