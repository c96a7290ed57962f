"""Modules of one function with weights of their own, or of two inputs: PReLU, Bilinear,
distances."""

import math

from .. import functional as F
from .. import init
from ..parameter import room
from .module import Module, stored


class PReLU(Module):
    """`x` where it is positive, else `weight * x`."""

    def __init__(self, num_parameters=1, init=0.25, device=None, dtype=None):
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = room(num_parameters, device=device, dtype=dtype)
        self.reset_parameters()

    def reset_parameters(self):
        init.constant_(self.weight, self.init)

    def forward(self, input):
        return F.prelu(input, self.weight)

    extra_repr = stored("num_parameters")


class Softmax2d(Module):
    """Softmax over the channels of [n, c, h, w] or [c, h, w]."""

    def forward(self, input):
        if input.dim() not in (3, 4):
            raise ValueError(
                f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead"
            )
        return F.softmax(input, -3)


class Bilinear(Module):
    """`x1 A x2 + b` for each output feature."""

    def __init__(
        self, in1_features, in2_features, out_features, bias=True, device=None, dtype=None
    ):
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got {in1_features}")
        self.in1_features, self.in2_features = in1_features, in2_features
        self.out_features = out_features
        kind = {"device": device, "dtype": dtype}
        self.weight = room((out_features, in1_features, in2_features), **kind)
        self.register_parameter("bias", room(out_features, bias, **kind))
        self.reset_parameters()

    def reset_parameters(self):
        bound = 1 / math.sqrt(self.weight.shape[1])
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1, input2):
        return F.bilinear(input1, input2, self.weight, self.bias)

    extra_repr = stored("in1_features", "in2_features", "out_features", "bias")


class CosineSimilarity(Module):
    """Cosine of the angle between vectors along `dim`."""

    def __init__(self, dim=1, eps=1e-8):
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x1, x2):
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """Norm of the difference of vectors."""

    def __init__(self, p=2.0, eps=1e-6, keepdim=False):
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1, x2):
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
