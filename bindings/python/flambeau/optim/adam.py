"""Adam and AdamW. Source: Kingma and Ba, 2014, arXiv 1412.6980; Loshchilov and Hutter, 2017, arXiv 1711.05101."""

import math

from .optimizer import Optimizer, check



class Adam(Optimizer):
    """Steps by the first moment over the root of the second, both corrected for their start at zero."""

    _decoupled = False

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, *, foreach=None,
                 maximize=False, capturable=False, differentiable=False, fused=None, decoupled_weight_decay=False):
        check("learning rate", lr, lr >= 0)
        check("epsilon value", eps, eps >= 0)
        for i, beta in enumerate(betas):
            check(f"beta parameter at index {i}", beta, 0 <= beta < 1)
        check("weight_decay value", weight_decay, weight_decay >= 0)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad, "maximize": maximize,
            "foreach": foreach, "capturable": capturable, "differentiable": differentiable, "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay or self._decoupled})

    def _state_of(self, p, amsgrad):
        state = self.state[p]
        if not state:
            zeros, tensor = _makers()
            state["step"] = tensor(0.0)
            state["exp_avg"], state["exp_avg_sq"] = zeros(p), zeros(p)
        if amsgrad and "max_exp_avg_sq" not in state:
            state["max_exp_avg_sq"] = _makers()[0](p)
        return state

    def _update(self, group, params, grads):
        lr, (beta1, beta2), decay = float(group["lr"]), group["betas"], group["weight_decay"]
        amsgrad = group["amsgrad"]
        for p, g in zip(params, grads):
            state = self._state_of(p, amsgrad)
            state["step"].add_(1)
            t = state["step"].item()
            if group["maximize"]:
                g = -g
            if decay and group["decoupled_weight_decay"]:
                p.mul_(1 - lr * decay)
            elif decay:
                g = g.add(p, alpha=decay)
            first, second = state["exp_avg"], state["exp_avg_sq"]
            first.lerp_(g, 1 - beta1)
            second.mul_(beta2).addcmul_(g, g, value=1 - beta2)
            if amsgrad:
                second = state["max_exp_avg_sq"].copy_(state["max_exp_avg_sq"].maximum(second))
            root = second.sqrt().div_(math.sqrt(1 - beta2**t)).add_(group["eps"])
            p.addcdiv_(first, root, value=-lr / (1 - beta1**t))


def _makers():
    from .. import tensor, zeros
    return lambda p: zeros(p.shape, dtype=p.dtype, device=p.device), tensor


class AdamW(Adam):
    """Adam whose weight decay does not go through the moments."""

    _decoupled = True

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False, **options):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, **options)
