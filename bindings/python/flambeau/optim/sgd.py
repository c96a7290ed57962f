"""Stochastic gradient descent with momentum, Nesterov's variant and weight decay; one fused step
per group."""

from ._rule import RuleOptimizer, arguments


class SGD(RuleOptimizer):
    """`p -= lr * buf`, `buf = momentum * buf + (1 - dampening) * (grad + weight_decay * p)`."""

    _name = "SGD"
    _step_supports_amp_scaling = True
    _since = {"nesterov": False}

    def __init__(self, params, lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False, *,
                 maximize=False, foreach=None, differentiable=False, fused=None):  # fmt: skip
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(**arguments(locals()))

    def _recorded(self, p, values):
        return self.state[p]  # a buffer begins with the first gradient

    def _update(self, group, params, grads):
        if not group["momentum"]:
            return self._run(params, grads, self._values(group), ())
        new = [self.state[p].get("momentum_buffer") is None for p in params]
        if True not in new:
            return super()._update(group, params, grads)
        for first in False, True:  # parameters whose buffers hold nothing yet step apart
            chosen = [both for both, is_new in zip(zip(params, grads), new) if is_new == first]
            if not chosen:
                continue
            if first and group["dampening"] and _is_skipped(self):
                continue  # a buffer of zeros would damp the first gradient
            super()._update(group, *zip(*chosen), first)


def _is_skipped(optimizer):
    """Whether a GradScaler's step is to do nothing. Waits for the device."""
    found = getattr(optimizer, "found_inf", None)
    return found is not None and bool(found.item())
