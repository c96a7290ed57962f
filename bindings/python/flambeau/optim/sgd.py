"""Stochastic gradient descent with momentum, Nesterov's variant and weight decay."""

from .optimizer import Optimizer, check


class SGD(Optimizer):
    """`p -= lr * buf`, `buf = momentum * buf + (1 - dampening) * (grad + weight_decay * p)`."""

    def __init__(self, params, lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False, *, maximize=False,
                 foreach=None, differentiable=False, fused=None):
        check("learning rate", lr, lr >= 0)
        check("momentum value", momentum, momentum >= 0)
        check("weight_decay value", weight_decay, weight_decay >= 0)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay, "nesterov": nesterov,
            "maximize": maximize, "foreach": foreach, "differentiable": differentiable, "fused": fused})

    def _update(self, group, params, grads):
        lr, momentum, decay = group["lr"], group["momentum"], group["weight_decay"]
        for p, g in zip(params, grads):
            if group["maximize"]:
                g = -g
            if decay:
                g = g.add(p, alpha=decay)
            if momentum:
                state = self.state[p]
                buf = state.get("momentum_buffer")
                if buf is None:
                    buf = state["momentum_buffer"] = g.detach().clone()
                else:
                    buf.mul_(momentum).add_(g, alpha=1 - group["dampening"])
                g = g.add(buf, alpha=momentum) if group["nesterov"] else buf
            p.add_(g, alpha=-float(lr))
