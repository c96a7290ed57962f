"""Adam and AdamW, one fused step per group. Source: Kingma and Ba, 2014, arXiv 1412.6980;
Loshchilov and Hutter, 2017, arXiv 1711.05101."""

from .._call import _fast
from .._tensor import Tensor
from ._state import cell
from .optimizer import Optimizer, check, check_betas, check_fused, check_lr, run, zeros_like


class Adam(Optimizer):
    """Steps by the first moment over the root of the second, both corrected for their start at
    zero."""

    _step_supports_amp_scaling = True

    _decoupled = False

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
        _check_tensors(lr, betas, foreach, capturable)
        check_lr(lr)
        check("epsilon value", eps, 0.0 <= eps)
        check_betas(betas)
        check("weight_decay value", weight_decay, 0.0 <= weight_decay)
        betas = tuple(float(beta) for beta in betas)
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
                "decoupled_weight_decay": decoupled_weight_decay,
            },
        )
        check_fused(fused, foreach, differentiable)

    def _later_options(self):
        return {
            "amsgrad": False,
            "decoupled_weight_decay": self._decoupled,
            **super()._later_options(),
        }

    def _update(self, group, params, grads):
        amsgrad = group["amsgrad"]
        states = [self._state_of(p, amsgrad) for p in params]
        run(
            self,
            _fast.flam_adam_step,
            params,
            grads,
            (
                [s["exp_avg"] for s in states],
                [s["exp_avg_sq"] for s in states],
                [s["max_exp_avg_sq"] for s in states] if amsgrad else [],
                [s["step"] for s in states],
            ),
            float(group["lr"]),
            *group["betas"],
            group["eps"],
            group["weight_decay"],
            group["decoupled_weight_decay"],
            group["maximize"],
        )

    def _state_of(self, p, amsgrad):
        state = self.state[p]
        if not state:
            state["step"] = cell(0.0, p)
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
        *,
        maximize=False,
        foreach=None,
        capturable=False,
        differentiable=False,
        fused=None,
    ):
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )


def _check_tensors(lr, betas, foreach, capturable):
    """Tensors as options: one element each, and not where a list of tensors is asked for."""
    each_alone = foreach and not capturable
    if isinstance(lr, Tensor) and each_alone:
        raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
    kinds = [isinstance(beta, Tensor) for beta in betas]
    if any(kinds) and not all(kinds):
        raise ValueError("betas must be either both floats or both Tensors")
    for i, beta in enumerate(betas if any(kinds) else ()):
        if each_alone:
            raise ValueError(
                f"betas[{i}] as a Tensor is not supported for capturable=False and foreach=True"
            )
        if beta.numel() != 1:
            raise ValueError(f"Tensor betas[{i}] must be 1-element")
