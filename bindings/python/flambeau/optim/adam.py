"""Adam and AdamW, one fused step per group. Source: Kingma and Ba, 2014, arXiv 1412.6980;
Loshchilov and Hutter, 2017, arXiv 1711.05101."""

from .._call import _fast, _raise
from .optimizer import Optimizer, check, handles, scaling, zeros_like


class Adam(Optimizer):
    """Steps by the first moment over the root of the second, both corrected for their start at
    zero."""

    _decoupled = False
    _step_supports_amp_scaling = True

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        amsgrad=False,
        *,
        foreach=None,
        maximize=False,
        capturable=False,
        differentiable=False,
        fused=None,
        decoupled_weight_decay=False,
    ):
        check("learning rate", lr, lr >= 0)
        check("epsilon value", eps, eps >= 0)
        for i, beta in enumerate(betas):
            check(f"beta parameter at index {i}", beta, 0 <= beta < 1)
        check("weight_decay value", weight_decay, weight_decay >= 0)
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "amsgrad": amsgrad,
                "maximize": maximize,
                "foreach": foreach,
                "capturable": capturable,
                "differentiable": differentiable,
                "fused": fused,
                "decoupled_weight_decay": decoupled_weight_decay or self._decoupled,
            },
        )

    def _update(self, group, params, grads):
        amsgrad, (beta1, beta2), n = group["amsgrad"], group["betas"], len(params)
        states = [self._state_of(p, amsgrad) for p in params]
        most = [s["max_exp_avg_sq"] for s in states] if amsgrad else []
        if _fast.flam_adam_step(
            handles(params),
            n,
            handles(grads),
            n,
            handles([s["exp_avg"] for s in states]),
            n,
            handles([s["exp_avg_sq"] for s in states]),
            n,
            handles(most),
            len(most),
            handles([s["step"] for s in states]),
            n,
            float(group["lr"]),
            beta1,
            beta2,
            group["eps"],
            group["weight_decay"],
            group["decoupled_weight_decay"],
            group["maximize"],
            *scaling(self, params[0]),
        ):
            _raise()

    def _state_of(self, p, amsgrad):
        state = self.state[p]
        if not state:
            from .. import tensor

            state["step"] = tensor(0.0, device=p.device)
            state["exp_avg"], state["exp_avg_sq"] = zeros_like(p), zeros_like(p)
        if amsgrad and "max_exp_avg_sq" not in state:
            state["max_exp_avg_sq"] = zeros_like(p)
        return state


class AdamW(Adam):
    """Adam whose weight decay does not go through the moments."""

    _decoupled = True

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=1e-2,
        amsgrad=False,
        **options,
    ):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, **options)
