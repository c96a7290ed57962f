"""Limits on gradients: by their joint norm, or element by element."""

import math
import types

from ..._deprecated import renamed, warn
from ..._gen import api
from ..._tensor import Tensor
from ..._torch import stack, tensor
from ...autograd import no_grad


def _listed(tensors):
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _gradients(parameters):
    return [g for g in (p.grad for p in _listed(parameters)) if g is not None]


def _check_finite(total, norm_type):
    if not math.isfinite(total.item()):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, "
            "so it cannot be clipped. To disable this error and scale the gradients by the "
            "non-finite norm anyway, set `error_if_nonfinite=False`"
        )


@no_grad()
def get_total_norm(tensors, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The norm of all tensors taken as one vector."""
    tensors = _listed(tensors)
    if not tensors:
        return tensor(0.0)
    first, norm_type = tensors[0].device, float(norm_type)
    norms = [t.norm(norm_type) for t in tensors]
    if len({hasattr(n, "_local_tensor") for n in norms}) > 1:  # some gradients lie over ranks
        norms = [n.full_tensor() if hasattr(n, "_local_tensor") else n for n in norms]
    norms = stack([n.to(first) for n in norms])
    total = norms.norm(norm_type)
    if error_if_nonfinite:
        _check_finite(total, norm_type)
    return total


@no_grad()
def clip_grads_with_norm_(parameters, max_norm, total_norm, foreach=None):
    """Scales all gradients as if their joint norm were `total_norm`, so that it is at most
    `max_norm`."""
    share = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    for grad in _gradients(parameters):
        grad.mul_(share.to(grad.device))


def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Scales all gradients so that their joint norm is at most `max_norm`; returns the norm
    before."""
    empty = isinstance(parameters, types.GeneratorType)
    parameters = _listed(parameters)
    if empty and not parameters:
        warn("`parameters` is an empty generator, no gradient clipping will occur.")
    found = [p.grad for p in parameters if p.grad is not None]
    parts = any(hasattr(p, "_local_tensor") for p in parameters)  # the others' count, too
    if parts or len({g.device for g in found}) > 1 or len({g.dtype for g in found}) > 1:
        total = get_total_norm(found, norm_type, error_if_nonfinite)
        clip_grads_with_norm_(parameters, max_norm, total)
        return total
    if error_if_nonfinite:
        get_total_norm(found, norm_type, True)
    return api.clip_grad_norm_(parameters, float(max_norm), float(norm_type), False)


_OLD = "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of "
_OLD += "`torch.nn.utils.clip_grad_norm_`."
clip_grad_norm = renamed(clip_grad_norm_, "clip_grad_norm", _OLD)


@no_grad()
def clip_grad_value_(parameters, clip_value, foreach=None):
    """Limits every gradient element to [-clip_value, clip_value]."""
    for grad in _gradients(parameters):
        grad.clamp_(-float(clip_value), float(clip_value))
