"""Spectral norm by a hook before forward, the older form: parameter `<name>_orig`, buffers
`<name>_u` and `<name>_v`. Source: Miyato et al., 2018, arXiv 1802.05957."""

from ...autograd import no_grad
from ..parameter import Parameter
from ._norms import as_matrix, check_iterations, check_only, grown, removed, unit


class SpectralNorm:
    """The hook."""

    def __init__(self, name="weight", n_power_iterations=1, dim=0, eps=1e-12):
        check_iterations(n_power_iterations)
        self.name, self.dim, self.eps = name, dim, eps
        self.n_power_iterations = n_power_iterations

    def reshape_weight_to_matrix(self, weight):
        """The weight with `dim` first and all others in one."""
        return as_matrix(weight, self.dim)

    def compute_weight(self, module, do_power_iteration):
        """The weight over its greatest singular value."""
        weight = getattr(module, self.name + "_orig")
        u, v = getattr(module, self.name + "_u"), getattr(module, self.name + "_v")
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with no_grad():
                grown(v, u, matrix.t(), self.n_power_iterations, self.eps)
            u, v = u.clone(), v.clone()  # a later forward changes them
        return weight / u.dot(matrix.mv(v))

    @staticmethod
    def apply(module, name, n_power_iterations, dim, eps):
        """Takes the parameter apart and registers the hook."""
        check_only(module, SpectralNorm, name, "spectral_norm")
        hook = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        with no_grad():
            sizes = hook.reshape_weight_to_matrix(weight).shape
            u, v = (unit(weight.new_empty(size).normal_(0, 1), eps) for size in sizes)
        delattr(module, name)
        module.register_parameter(name + "_orig", weight)
        setattr(module, name, weight.data)
        module.register_buffer(name + "_u", u)
        module.register_buffer(name + "_v", v)
        module.register_forward_pre_hook(hook)
        return hook

    def remove(self, module):
        """Makes the parameter whole again."""
        with no_grad():
            weight = self.compute_weight(module, False)
        for suffix in "", "_u", "_v", "_orig":
            delattr(module, self.name + suffix)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module, inputs):
        setattr(module, self.name, self.compute_weight(module, module.training))


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """Divides a parameter by its greatest singular value, estimated by power iteration."""
    if dim is None:
        dim = int("ConvTranspose" in type(module).__name__)
    SpectralNorm.apply(module, name, n_power_iterations, dim, eps)
    return module


def remove_spectral_norm(module, name="weight"):
    """Takes `spectral_norm` off again."""
    return removed(module, SpectralNorm, name, "spectral_norm")
