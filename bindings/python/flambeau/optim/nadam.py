"""NAdam, one fused step per group. Source: Dozat, 2016, ICLR workshop."""

from .._call import _fast
from ._state import cell
from .optimizer import Optimizer, check, check_betas, check_lr, run, zeros_like


class NAdam(Optimizer):
    """Adam with Nesterov's momentum."""

    _step_supports_amp_scaling = True
    _cell_names = ("step", "mu_product")

    def __init__(
        self,
        params,
        lr=2e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        momentum_decay=4e-3,
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
        check("momentum_decay value", momentum_decay, 0.0 <= momentum_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _update(self, group, params, grads):
        states = [self._state_of(p, group) for p in params]
        run(
            self,
            _fast.flam_nadam_step,
            params,
            grads,
            (
                [s["exp_avg"] for s in states],
                [s["exp_avg_sq"] for s in states],
                [s["mu_product"] for s in states],
                [s["step"] for s in states],
            ),
            float(group["lr"]),
            *group["betas"],
            group["eps"],
            group["weight_decay"],
            group["momentum_decay"],
            group["decoupled_weight_decay"],
            group["maximize"],
        )

    def _state_of(self, p, group):
        state = self.state[p]
        if not state:
            state["step"] = cell(0.0, p)
            state["mu_product"] = cell(1.0, p)
            state["exp_avg"] = zeros_like(p)
            state["exp_avg_sq"] = zeros_like(p)
        return state
