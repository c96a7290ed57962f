"""Ready-made parametrizations: weight norm and spectral norm."""

from ..._tensor import Tensor
from ...autograd import no_grad
from ..modules import Module
from . import parametrize
from ._norms import grown, norm_except_dim, unit, weight_of


class _WeightNorm(Module):
    """A length per slice times a direction. Source: Salimans and Kingma, 2016, arXiv
    1602.07868."""

    def __init__(self, dim=0):
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g, weight_v):
        return weight_of(weight_v, weight_g, self.dim)

    def right_inverse(self, weight):
        return norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module, name="weight", dim=0):
    """Splits a weight into lengths (`original0`) and directions (`original1`)."""
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def old_names(module, state_dict, prefix, *_):
        g, v = f"{prefix}{name}_g", f"{prefix}{name}_v"
        if g in state_dict and v in state_dict:
            for i, key in enumerate((g, v)):
                state_dict[f"{prefix}parametrizations.{name}.original{i}"] = state_dict.pop(key)

    module.register_load_state_dict_pre_hook(old_names)
    return module


class _SpectralNorm(Module):
    """A weight over its greatest singular value, estimated by power iteration. Source: Miyato et
    al., 2018, arXiv 1802.05957."""

    def __init__(self, weight, n_power_iterations=1, dim=0, eps=1e-12):
        super().__init__()
        ndim = weight.ndim
        if dim >= ndim or dim < -ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got "
                f"{dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, but got "
                f"n_power_iterations={n_power_iterations}"
            )
        self.dim, self.eps = dim % ndim, eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._matrix(weight.detach())
            for name, size in zip(("_u", "_v"), matrix.shape):
                start = matrix.new_empty(size).normal_(0, 1)
                self.register_buffer(name, unit(start, eps))
            self._iterate(matrix, 15)

    def _matrix(self, weight):
        if self.dim:
            order = [self.dim, *(d for d in range(weight.dim()) if d != self.dim)]
            weight = weight.permute(*order)
        return weight.flatten(1)

    @no_grad()
    def _iterate(self, matrix, times):
        grown(self._u, self._v, matrix, times, self.eps)

    def forward(self, weight):
        if weight.ndim == 1:
            return unit(weight, self.eps)
        matrix = self._matrix(weight)
        if self.training:
            self._iterate(matrix.detach(), self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()  # a later forward changes them
        return weight / u.dot(matrix.mv(v))

    def right_inverse(self, value):
        return value


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """Divides a weight by its greatest singular value."""
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if dim is None:
        dim = int("ConvTranspose" in type(module).__name__)
    made = _SpectralNorm(weight, n_power_iterations, dim, eps)
    parametrize.register_parametrization(module, name, made)
    return module
