"""Stochastic gradient descent with momentum, Nesterov's variant and weight decay; one fused step
per group."""

from .._call import _fast
from ._rule import RuleOptimizer, arguments
from .optimizer import empty_like, is_skipped, run


class SGD(RuleOptimizer):
    """`p -= lr * buf`, `buf = momentum * buf + (1 - dampening) * (grad + weight_decay * p)`."""

    _step_supports_amp_scaling = True
    _since = {"nesterov": False}

    def __init__(self, params, lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False, *,
                 maximize=False, foreach=None, differentiable=False, fused=None):  # fmt: skip
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(**arguments(locals()))

    def _update(self, group, params, grads):
        if not group["momentum"]:
            return self._step(group, params, grads, [], False)
        for first in False, True:  # parameters whose buffers hold nothing yet step apart
            chosen = [
                (p, g)
                for p, g in zip(params, grads)
                if (self.state[p].get("momentum_buffer") is None) == first
            ]
            if not chosen:
                continue
            some, their = zip(*chosen)
            if first and group["dampening"] and is_skipped(self):
                continue  # a buffer of zeros would damp the first gradient
            for p in some if first else ():
                self.state[p]["momentum_buffer"] = empty_like(p)
            self._step(group, some, their, [self.state[p]["momentum_buffer"] for p in some], first)
            if first is False and len(some) == len(params):
                return None

    def _step(self, group, params, grads, buffers, first):
        names = ("momentum", "dampening", "weight_decay", "nesterov", "maximize")
        numbers = (float(group["lr"]), *(group[name] for name in names), first)
        run(self, _fast.flam_sgd_step, params, grads, (buffers,), *numbers)
