"""ASGD, one fused step per group. Source: Polyak and Juditsky, 1992, SIAM J. Control Optim. 30."""

from .._call import _fast
from ._state import cell
from .optimizer import Optimizer, check, check_lr, run, zeros_like


class ASGD(Optimizer):
    """Gradient descent with a falling rate and an average of the parameters in `ax`."""

    _step_supports_amp_scaling = True
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

    def _update(self, group, params, grads):
        states = [self._state_of(p, group) for p in params]
        run(
            self,
            _fast.flam_asgd_step,
            params,
            grads,
            (
                [s["ax"] for s in states],
                [s["eta"] for s in states],
                [s["mu"] for s in states],
                [s["step"] for s in states],
            ),
            float(group["lr"]),
            group["lambd"],
            group["alpha"],
            group["t0"],
            group["weight_decay"],
            group["maximize"],
        )

    def _state_of(self, p, group):
        state = self.state[p]
        if not state:
            state["step"] = cell(0.0, p)
            state["eta"] = cell(group["lr"], p)
            state["mu"] = cell(1.0, p)
            state["ax"] = zeros_like(p)
        return state
