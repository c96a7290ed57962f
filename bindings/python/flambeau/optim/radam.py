"""RAdam, one fused step per group. Source: Liu et al., 2019, arXiv 1908.03265."""

from .._call import _fast
from ._state import cell
from .optimizer import Optimizer, check, check_betas, check_lr, run, zeros_like


class RAdam(Optimizer):
    """Adam whose rate is rectified while its variance cannot be known yet."""

    _step_supports_amp_scaling = True

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

    def _update(self, group, params, grads):
        states = [self._state_of(p, group) for p in params]
        run(
            self,
            _fast.flam_radam_step,
            params,
            grads,
            (
                [s["exp_avg"] for s in states],
                [s["exp_avg_sq"] for s in states],
                [s["step"] for s in states],
            ),
            float(group["lr"]),
            *group["betas"],
            group["eps"],
            group["weight_decay"],
            group["decoupled_weight_decay"],
            group["maximize"],
        )

    def _state_of(self, p, group):
        state = self.state[p]
        if not state:
            state["step"] = cell(0.0, p)
            state["exp_avg"] = zeros_like(p)
            state["exp_avg_sq"] = zeros_like(p)
        return state
