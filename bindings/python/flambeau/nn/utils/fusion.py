"""Batch norms folded into the layer before them, for inference."""

from copy import deepcopy

from ..._torch import ones_like, zeros_like
from ..parameter import Parameter


def _parts(layer, bn):
    """A copy of the layer, and what the norm does to its results."""
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")
    return deepcopy(layer), (bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias)


def _parameters(weight, old_weight, bias, old_bias):
    """New values as parameters, which require gradients where the old ones did."""
    pairs = (weight, old_weight), (bias, old_bias)
    return tuple(Parameter(new.detach(), old.requires_grad) for new, old in pairs)


def fuse_conv_bn_eval(conv, bn, transpose=False):
    """A convolution that does what `conv` followed by `bn` does, both in eval mode."""
    fused, statistics = _parts(conv, bn)
    before = fused.weight, fused.bias
    fused.weight, fused.bias = fuse_conv_bn_weights(*before, *statistics, transpose)
    return fused


def fuse_conv_bn_weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, transpose=False):
    """Weight and bias of the convolution that does both."""
    bias_dtype = conv_w.dtype if conv_b is None else conv_b.dtype
    conv_b = zeros_like(bn_rm) if conv_b is None else conv_b
    bn_w = ones_like(bn_rm) if bn_w is None else bn_w
    bn_b = zeros_like(bn_rm) if bn_b is None else bn_b
    root = (bn_rv + bn_eps).rsqrt()
    shape = [1] * conv_w.dim()
    shape[1 if transpose else 0] = -1
    weight = (conv_w * (bn_w * root).reshape(shape)).to(dtype=conv_w.dtype)
    bias = ((conv_b - bn_rm) * root * bn_w + bn_b).to(dtype=bias_dtype)
    return _parameters(weight, conv_w, bias, conv_b)


def fuse_linear_bn_eval(linear, bn):
    """A linear layer that does what `linear` followed by `bn` does, both in eval mode."""
    fused, statistics = _parts(linear, bn)
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
            f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}"
        )
    fused.weight, fused.bias = fuse_linear_bn_weights(fused.weight, fused.bias, *statistics)
    return fused


def fuse_linear_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b):
    """Weight and bias of the linear layer that does both."""
    bias_dtype = linear_w.dtype if linear_b is None else linear_b.dtype
    linear_b = zeros_like(bn_rm) if linear_b is None else linear_b
    scale = bn_w * (bn_rv + bn_eps).rsqrt()
    weight = linear_w * scale.unsqueeze(-1).to(dtype=linear_w.dtype)
    bias = ((linear_b - bn_rm) * scale + bn_b).to(dtype=bias_dtype)
    return _parameters(weight, linear_w, bias, linear_b)
