"""Helpers over parameters: clipping gradients, flattening parameters into one vector."""

import math

from ..._gen import api
from ..._tensor import Tensor
from ...autograd import no_grad


def _with_grad(parameters):
    parameters = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    return [g for g in (p.grad for p in parameters) if g is not None]


@no_grad()
def get_total_norm(tensors, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The norm of all tensors taken as one vector."""
    from ... import stack, tensor

    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    if not tensors:
        return tensor(0.0)
    first = tensors[0].device
    norms = stack([t.norm(float(norm_type)).to(first) for t in tensors])
    total = norms.max() if norm_type == math.inf else norms.norm(float(norm_type))
    if error_if_nonfinite and not math.isfinite(total.item()):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, "
            "so it cannot "
            "be clipped. To disable this error and scale the gradients by the non-finite norm "
            "anyway, set "
            "`error_if_nonfinite=False`"
        )
    return total


def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Scales all gradients so that their joint norm is at most `max_norm`; returns the norm
    before."""
    parameters = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    return api.clip_grad_norm_(parameters, float(max_norm), float(norm_type), error_if_nonfinite)


@no_grad()
def clip_grad_value_(parameters, clip_value, foreach=None):
    """Limits every gradient element to [-clip_value, clip_value]."""
    for grad in _with_grad(parameters):
        grad.clamp_(-float(clip_value), float(clip_value))


def parameters_to_vector(parameters):
    """All parameters in one 1-d tensor."""
    from ... import cat

    return cat([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec, parameters):
    """Lets consecutive pieces of a vector become the parameters' data."""
    at = 0
    for p in parameters:
        p.data = vec[at : at + p.numel()].view(p.shape).data
        at += p.numel()
