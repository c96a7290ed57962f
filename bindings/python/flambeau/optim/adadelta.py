"""Adadelta, one fused step per group. Source: Zeiler, 2012, arXiv 1212.5701."""

from .._call import _fast
from ._state import cell
from .optimizer import Optimizer, check, check_lr, run, zeros_like


class Adadelta(Optimizer):
    """Steps by the gradient in the ratio of the running changes to the running gradients."""

    _step_supports_amp_scaling = True

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

    def _update(self, group, params, grads):
        states = [self._state_of(p, group) for p in params]
        run(
            self,
            _fast.flam_adadelta_step,
            params,
            grads,
            (
                [s["square_avg"] for s in states],
                [s["acc_delta"] for s in states],
                [s["step"] for s in states],
            ),
            float(group["lr"]),
            group["rho"],
            group["eps"],
            group["weight_decay"],
            group["maximize"],
        )

    def _state_of(self, p, group):
        state = self.state[p]
        if not state:
            state["step"] = cell(0.0, p)
            state["square_avg"] = zeros_like(p)
            state["acc_delta"] = zeros_like(p)
        return state
