"""Helpers over parameters: clipping gradients, one vector for all, weights computed from others."""

from ..._on_demand import own as _own
from . import (
    clip_grad,
    convert_parameters,
    fusion,
    init,
    memory_format,
    parametrizations,
    parametrize,
    prune,
    rnn,
    spectral_norm,
    stateless,
    weight_norm,
)

__all__ = (
    "clip_grad_norm clip_grad_norm_ clip_grad_value_ clip_grads_with_norm_ "
    "convert_conv2d_weight_memory_format convert_conv3d_weight_memory_format fuse_conv_bn_eval "
    "fuse_conv_bn_weights fuse_linear_bn_eval fuse_linear_bn_weights get_total_norm "
    "parameters_to_vector parametrizations parametrize prune remove_spectral_norm "
    "remove_weight_norm rnn skip_init spectral_norm stateless vector_to_parameters weight_norm"
).split()
_parts = clip_grad, convert_parameters, fusion, init, memory_format, spectral_norm, weight_norm
globals().update(_own(*_parts, only=__all__))
