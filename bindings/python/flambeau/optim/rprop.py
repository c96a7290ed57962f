"""Rprop, one fused step per group. Source: Riedmiller and Braun, 1993, ICNN."""

from .._call import _fast
from ._rule import RuleOptimizer
from ._state import cell
from .optimizer import check, check_lr, full_like, zeros_like


class Rprop(RuleOptimizer):
    """Steps by the sign of the gradient; each element's step grows or shrinks as the sign stays or
    turns."""

    _function = _fast.flam_rprop_step
    _lists = ("prev", "step_size", "step")

    def __init__(
        self,
        params,
        lr=1e-2,
        etas=(0.5, 1.2),
        step_sizes=(1e-6, 50),
        *,
        capturable=False,
        foreach=None,
        maximize=False,
        differentiable=False,
    ):
        check_lr(lr)
        check("eta values", f"{etas[0]}, {etas[1]}", 0.0 < etas[0] < 1.0 < etas[1])
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _numbers(self, group):
        return (
            *group["etas"],
            *group["step_sizes"],
            group["maximize"],
        )

    def _first_state(self, p, group):
        return {
            "step": cell(0.0, p),
            "prev": zeros_like(p),
            "step_size": full_like(p, group["lr"]),
        }
