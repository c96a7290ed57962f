"""Affine layers: Linear, and Identity."""

from .. import functional as F
from .. import init
from ..parameter import room
from .module import Module, stored


class Identity(Module):
    """Returns its input; arguments are accepted and ignored."""

    def __init__(self, *args, **kwargs):
        super().__init__()

    def forward(self, input):
        return input


class Linear(Module):
    """`y = x @ weight.T + bias`, weight [out_features, in_features], both uniform in
    +-1/sqrt(in_features)."""

    def __init__(self, in_features, out_features, bias=True, device=None, dtype=None):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        kind = {"device": device, "dtype": dtype}
        self.weight = room((out_features, in_features), **kind)
        self.register_parameter("bias", room(out_features, bias, **kind))
        self.reset_parameters()

    def reset_parameters(self):
        init._affine_(self.weight, self.bias)

    def forward(self, input, *, _linear=F.linear):
        own = self.__dict__["_parameters"]
        try:
            weight, bias = own["weight"], own["bias"]
        except KeyError:  # computed, by a parametrization or a hook
            weight, bias = self.weight, self.bias
        return _linear(input, weight, bias)

    extra_repr = stored("in_features", "out_features", "bias")


class NonDynamicallyQuantizableLinear(Linear):
    """Linear under the name that torch prints for this layer."""
