"""Adagrad, one fused step per group. Source: Duchi, Hazan and Singer, 2011, JMLR 12."""

from .._call import _fast
from ._rule import RuleOptimizer
from ._state import cell
from .optimizer import check, check_fused, check_lr, full_like


class Adagrad(RuleOptimizer):
    """Steps by the gradient over the root of the sum of its squares."""

    _function = _fast.flam_adagrad_step
    _lists = ("sum", "step")

    def __init__(
        self,
        params,
        lr=1e-2,
        lr_decay=0,
        weight_decay=0,
        initial_accumulator_value=0,
        eps=1e-10,
        foreach=None,
        *,
        maximize=False,
        differentiable=False,
        fused=None,
    ):
        check_lr(lr)
        check("lr_decay value", lr_decay, 0.0 <= lr_decay)
        check("weight_decay value", weight_decay, 0.0 <= weight_decay)
        first = initial_accumulator_value
        check("initial_accumulator_value value", first, 0.0 <= first)
        check("epsilon value", eps, 0.0 <= eps)
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)
        for group in self.param_groups:
            for p in group["params"]:
                self._state_of(p, group)

    def share_memory(self):
        """Lets other processes see the sums."""
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["sum"].share_memory_()

    def _numbers(self, group):
        return (
            float(group["lr"]),
            group["lr_decay"],
            group["weight_decay"],
            group["eps"],
            group["maximize"],
        )

    def _first_state(self, p, group):
        accumulated = full_like(p, self.defaults["initial_accumulator_value"])
        return {"step": cell(0.0, p), "sum": accumulated}

    def _state_of(self, p, group):
        state = super()._state_of(p, group)
        if state["step"].device != p.device:  # made before the model moved
            state["step"], state["sum"] = cell(state["step"], p), state["sum"].to(p.device)
        return state
