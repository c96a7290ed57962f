"""ASGD, one fused step per group. Source: Polyak and Juditsky, 1992, SIAM J. Control Optim. 30."""

from .._call import _fast
from ._rule import RuleOptimizer
from ._state import cell
from .optimizer import check, check_lr, zeros_like


class ASGD(RuleOptimizer):
    """Gradient descent with a falling rate and an average of the parameters in `ax`."""

    _function = _fast.flam_asgd_step
    _lists = ("ax", "eta", "mu", "step")
    _cell_names = ("step", "eta", "mu")

    def __init__(
        self,
        params,
        lr=1e-2,
        lambd=1e-4,
        alpha=0.75,
        t0=1e6,
        weight_decay=0,
        foreach=None,
        maximize=False,
        differentiable=False,
        capturable=False,
    ):
        check_lr(lr)
        check("lambd value", lambd, 0.0 <= lambd)
        check("alpha value", alpha, 0.0 <= alpha)
        check("weight_decay value", weight_decay, 0.0 <= weight_decay)
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
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
            group["lambd"],
            group["alpha"],
            group["t0"],
            group["weight_decay"],
            group["maximize"],
        )

    def _first_state(self, p, group):
        return {
            "step": cell(0.0, p),
            "eta": cell(group["lr"], p),
            "mu": cell(1.0, p),
            "ax": zeros_like(p),
        }
