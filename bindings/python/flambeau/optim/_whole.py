"""Plain tensors that stand for parameters which lie over ranks (DTensors), for a rule that takes
all parameters as one vector. Every rank has the whole of them and computes alike, so that all ask
for as many losses; of what comes out each keeps its part."""

from .._tensor import Tensor
from .._torch import float64, tensor


def _laid(value):
    return hasattr(value, "_local_tensor")


def _whole(p):
    return p.detach().full_tensor().clone().requires_grad_(p.requires_grad)


class Whole:
    """The stand-ins of a list of parameters; a plain parameter stands for itself."""

    def __init__(self, params):
        self._params = list(params)
        self.tensors = [_whole(p) if _laid(p) else p for p in self._params]
        meshes = [p.device_mesh for p in self._params if _laid(p)]
        self._meshes = list(dict.fromkeys(meshes))  # in an order that is every rank's

    def _pairs(self):
        return ((p, whole) for p, whole in zip(self._params, self.tensors) if whole is not p)

    def take(self):
        """The values that the parameters have now."""
        for p, whole in self._pairs():
            whole.copy_(p.detach().full_tensor())

    def give(self):
        """The values of the stand-ins to the parameters."""
        for p, whole in self._pairs():
            p._take_whole(whole)

    def take_gradients(self):
        """The gradients that the parameters have now."""
        for p, whole in self._pairs():
            whole.grad = None if p.grad is None else p.grad.full_tensor()

    def loss(self, found):
        """A loss as the same number on all ranks: the mean, as gradients are."""
        if isinstance(found, Tensor):
            found = found.detach()
            found = found.full_tensor() if _laid(found) else found
        if not self._meshes:
            return float(found)
        mean = tensor(float(found), dtype=float64, device=self.tensors[0].device)
        for mesh in self._meshes:
            mesh._mean(mean)
        return mean.item()
