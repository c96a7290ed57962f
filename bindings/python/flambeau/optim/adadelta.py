"""Adadelta, one fused step per group. Source: Zeiler, 2012, arXiv 1212.5701."""

from .._call import _fast
from ._rule import RuleOptimizer
from ._state import cell
from .optimizer import check, check_lr, zeros_like


class Adadelta(RuleOptimizer):
    """Steps by the gradient in the ratio of the running changes to the running gradients."""

    _function = _fast.flam_adadelta_step
    _lists = ("square_avg", "acc_delta", "step")

    def __init__(
        self,
        params,
        lr=1.0,
        rho=0.9,
        eps=1e-6,
        weight_decay=0,
        foreach=None,
        *,
        capturable=False,
        maximize=False,
        differentiable=False,
    ):
        check_lr(lr)
        check("rho value", rho, 0.0 <= rho <= 1.0)
        check("epsilon value", eps, 0.0 <= eps)
        check("weight_decay value", weight_decay, 0.0 <= weight_decay)
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _numbers(self, group):
        return (
            float(group["lr"]),
            group["rho"],
            group["eps"],
            group["weight_decay"],
            group["maximize"],
        )

    def _first_state(self, p, group):
        return {
            "step": cell(0.0, p),
            "square_avg": zeros_like(p),
            "acc_delta": zeros_like(p),
        }
