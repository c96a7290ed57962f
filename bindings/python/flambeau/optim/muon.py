"""Muon: momentum whose matrix is made orthogonal before it is the step. Written with tensor
operations, for matrices only. Source: Jordan et al., 2024,
https://kellerjordan.github.io/posts/muon; the learning rates' adjustments: Liu et al., arXiv
2502.16982."""

import math

from .._tensor import Tensor
from .._torch import addmm, bfloat16
from ._rule import arguments
from .optimizer import Optimizer, zeros_like

_ADJUSTMENTS = {
    "original": lambda rows, columns: math.sqrt(max(1, rows / columns)),
    "match_rms_adamw": lambda rows, columns: 0.2 * math.sqrt(max(rows, columns)),
    "spectral_unclamped": lambda rows, columns: math.sqrt(rows / columns),
}


class Muon(Optimizer):
    """Steps by the nearest (almost) orthogonal matrix to the momentum; other parameters than
    matrices need another optimizer."""

    def __init__(self, params, lr=1e-3, weight_decay=0.1, momentum=0.95, nesterov=True,
                 ns_coefficients=(3.4445, -4.7750, 2.0315), eps=1e-7, ns_steps=5,
                 adjust_lr_fn=None):  # fmt: skip
        options = arguments(locals())
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        for name, value in (
            ("Learning rate", lr),
            ("momentum", momentum),
            ("weight decay", weight_decay),
        ):
            if not 0.0 <= value:
                raise ValueError(f"{name} should be >= 0 but is: {value}")
        if adjust_lr_fn is not None and adjust_lr_fn not in _ADJUSTMENTS:
            raise ValueError(
                f"Adjust learning rate function {adjust_lr_fn} is not supported; there are "
                + ", ".join(_ADJUSTMENTS)
            )
        super().__init__(options.pop("params"), options)
        for group in self.param_groups:
            for p in group["params"]:
                if p.ndim != 2:
                    raise ValueError(
                        "Muon only supports 2D parameters whereas we found a parameter with size: "
                        f"{p.size()}"
                    )

    def _update(self, group, params, grads):
        lr, momentum = float(group["lr"]), group["momentum"]
        adjust = _ADJUSTMENTS[group["adjust_lr_fn"] or "original"]
        for p, grad in zip(params, grads):
            state = self.state[p]
            if "momentum_buffer" not in state:
                state["momentum_buffer"] = zeros_like(p)
            buffer = state["momentum_buffer"].lerp_(grad, 1 - momentum)
            wanted = grad.lerp(buffer, momentum) if group["nesterov"] else buffer
            update = orthogonal(wanted, group["ns_coefficients"], group["ns_steps"], group["eps"])
            p.mul_(1 - lr * group["weight_decay"])
            p.add_(update, alpha=-lr * adjust(*p.shape))


def orthogonal(matrix, coefficients, steps, eps):
    """A matrix in bfloat16 with the singular vectors of `matrix` and singular values near one, by
    `steps` iterations of a quintic polynomial (Newton and Schulz)."""
    if steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    tall = matrix.shape[0] > matrix.shape[1]
    x = (matrix.T if tall else matrix).to(bfloat16)
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        x = addmm(x, addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if tall else x
