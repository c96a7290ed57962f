"""Rprop, one fused step per group. Source: Riedmiller and Braun, 1993, ICNN."""

from .._call import _fast
from ._state import cell
from .optimizer import Optimizer, check, check_lr, full_like, run, zeros_like


class Rprop(Optimizer):
    """Steps by the sign of the gradient; each element's step grows or shrinks as the sign stays or
    turns."""

    _step_supports_amp_scaling = True

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

    def _update(self, group, params, grads):
        states = [self._state_of(p, group) for p in params]
        run(
            self,
            _fast.flam_rprop_step,
            params,
            grads,
            (
                [s["prev"] for s in states],
                [s["step_size"] for s in states],
                [s["step"] for s in states],
            ),
            *group["etas"],
            *group["step_sizes"],
            group["maximize"],
        )

    def _state_of(self, p, group):
        state = self.state[p]
        if not state:
            state["step"] = cell(0.0, p)
            state["prev"] = zeros_like(p)
            state["step_size"] = full_like(p, group["lr"])
        return state
