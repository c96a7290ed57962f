"""Adafactor: Adam's second moment kept as one row and one column per matrix. Written with tensor
operations that never wait for the device. Source: Shazeer and Stern, 2018, arXiv 1804.04235; `lr`
bounds the relative step, and epsilon stands where torch puts it."""

from .._tensor import Tensor
from .._torch import finfo, float64
from ._rule import arguments
from ._state import cell
from .optimizer import Optimizer, zeros_like


class Adafactor(Optimizer):
    """Steps relative to the parameter's size, by factored second moments, with clipping."""

    def __init__(self, params, lr=1e-2, beta2_decay=-0.8, eps=(None, 1e-3), d=1.0, weight_decay=0.0,
                 *, foreach=None, maximize=False):  # fmt: skip
        options = arguments(locals())
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        for ok, text, value in (
            (0.0 <= lr, "Learning rate should be >= 0", lr),
            (beta2_decay <= 0.0, "beta2_decay should be <= 0", beta2_decay),
            (eps[0] is None or 0.0 <= eps[0], "epsilon1 should be >= 0", eps[0]),
            (0.0 <= eps[1], "epsilon2 should be >= 0", eps[1]),
            (1.0 <= d, "Clipping threshold d should be >= 1", d),
            (0.0 <= weight_decay, "weight_decay should be >= 0", weight_decay),
        ):
            if not ok:
                raise ValueError(f"{text} but is: {value}")
        super().__init__(options.pop("params"), options)

    def _update(self, group, params, grads):
        lr, (eps1, eps2) = float(group["lr"]), group["eps"]
        eps1 = finfo(params[0].dtype).eps if eps1 is None else eps1
        for p, grad in zip(params, grads):
            grad = -grad if group["maximize"] else grad
            state = self.state[p] or self._begun(p)
            state["step"].add_(1)
            step = state["step"].to(float64)
            new = (step ** group["beta2_decay"]).to(p.dtype)
            size = (p.norm() / p.numel() ** 0.5).clamp(min=eps2)
            alpha = size * (1 / step.sqrt()).clamp(max=lr).to(p.dtype)
            if group["weight_decay"] != 0:
                p.mul_(1 - lr * group["weight_decay"])
            variance = _variance(state, grad, new, eps1)
            update = variance.clamp_(min=eps1 * eps1).rsqrt_().mul_(grad)
            clip = (update.norm() / (update.numel() ** 0.5 * group["d"])).clamp(min=1.0)
            p.sub_(update.mul_(alpha / clip))

    def _begun(self, p):
        state = self.state[p]
        state["step"] = cell(0.0, p)
        if p.dim() > 1:
            state["row_var"] = p.new_zeros((*p.shape[:-1], 1))
            state["col_var"] = p.new_zeros((*p.shape[:-2], 1, p.shape[-1]))
        else:
            state["variance"] = zeros_like(p)
        return state


def _variance(state, grad, new, eps1):
    """The running mean of squares, by its factors where the gradient has several dimensions."""
    squares = grad * grad
    if grad.dim() < 2:
        return state["variance"].lerp_(squares, new).clone()
    row = state["row_var"].lerp_(squares.mean(-1, keepdim=True), new)
    column = state["col_var"].lerp_(squares.mean(-2, keepdim=True), new)
    return (row @ column).div_(row.mean(-2, keepdim=True).clamp_(min=eps1))
