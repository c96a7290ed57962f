"""RMSprop, one fused step per group. Source: Hinton, 2012, lecture 6 of Neural Networks for Machine
Learning; Graves, 2013, arXiv 1308.0850, for the centered form."""

from .._call import _fast
from ._state import cell
from .optimizer import Optimizer, check, check_lr, run, zeros_like


class RMSprop(Optimizer):
    """Steps by the gradient over the root of its running mean square."""

    _step_supports_amp_scaling = True

    def __init__(
        self,
        params,
        lr=1e-2,
        alpha=0.99,
        eps=1e-8,
        weight_decay=0,
        momentum=0,
        centered=False,
        capturable=False,
        foreach=None,
        maximize=False,
        differentiable=False,
    ):
        check_lr(lr)
        check("epsilon value", eps, 0.0 <= eps)
        check("momentum value", momentum, 0.0 <= momentum)
        check("weight_decay value", weight_decay, 0.0 <= weight_decay)
        check("alpha value", alpha, 0.0 <= alpha)
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _later_options(self):
        return {"momentum": 0, "centered": False, **super()._later_options()}

    def _update(self, group, params, grads):
        states = [self._state_of(p, group) for p in params]
        run(
            self,
            _fast.flam_rmsprop_step,
            params,
            grads,
            (
                [s["square_avg"] for s in states],
                [s["momentum_buffer"] for s in states] if group["momentum"] > 0 else [],
                [s["grad_avg"] for s in states] if group["centered"] else [],
                [s["step"] for s in states],
            ),
            float(group["lr"]),
            group["alpha"],
            group["eps"],
            group["weight_decay"],
            group["momentum"],
            group["maximize"],
        )

    def _state_of(self, p, group):
        state = self.state[p]
        if not state:
            state["step"], state["square_avg"] = cell(0.0, p), zeros_like(p)
            if group["momentum"] > 0:
                state["momentum_buffer"] = zeros_like(p)
            if group["centered"]:
                state["grad_avg"] = zeros_like(p)
        return state
