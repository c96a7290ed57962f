"""Forward-mode automatic differentiation: unsupported, and says so; `autograd.functional.jvp`
computes the same products by two backward passes."""

from collections import namedtuple

from .. import _refused

_NAMES = "enter_dual_level exit_dual_level make_dual dual_level set_forward_ad_enabled"
_WHY = "there is no forward-mode automatic differentiation; use torch.autograd.functional.jvp"
globals().update(_refused.names("torch.autograd.forward_ad", _NAMES, _WHY))

UnpackedDualTensor = namedtuple("UnpackedDualTensor", "primal tangent")


def unpack_dual(tensor, *, level=None):
    """The tensor and its tangent, which no tensor has."""
    return UnpackedDualTensor(tensor, None)
